import { afterEach, expect, test, vi } from "vitest";
import { ApiError, unreachable } from "$/api/error";
import { TaskStart } from "$/tasks/start.svelte";
import { cancelTask, type TaskDescription, taskStatus } from "$/tasks/status";
import { Task } from "$/tasks/task.svelte";
import { outcomeOf, titleOf } from "$/tasks/words";
import { json, respond } from "../network";

afterEach(() => {
  vi.useRealTimers();
});

const about = (kind: TaskDescription["kind"]): TaskDescription => ({
  kind,
  id: "t",
  repository: "sea",
  branch: "main",
  source: "dev/1",
  user: "ann",
  startedAt: 0,
});

test.each([
  ["commit", "/repositories/sea/branches/main/commits/async/t/status", { result: { id: "c" } }],
  ["merge", "/repositories/sea/refs/dev%2F1/merge/main/async/t/status", { result: { reference: "c" } }],
  ["import", "/repositories/sea/branches/main/import", { commit: { id: "c" }, ingested_objects: 7 }],
] as const)("the status of a %s is read from its own operation", async (kind, path, outcome) => {
  const requests = respond(() => json({ completed: true, ...outcome }));
  expect(await taskStatus(about(kind))).toEqual({ completed: true, error: undefined, commitId: "c", objects: kind === "import" ? 7 : 0 });
  expect(requests[0]?.path).toBe(`/api/v1${path}`);
});

test("a task that failed has the server's error", async () => {
  respond(() => json({ completed: true, error: { message: "no changes" }, status_code: 412, error_kind: "no_changes", error_hint: "h" }));
  expect((await taskStatus(about("commit"))).error).toMatchObject({ message: "no changes", status: 412, kind: "no_changes", hint: "h" });
});

test("an import is cancelled by its id", async () => {
  const requests = respond(() => new Response(null, { status: 204 }));
  await cancelTask(about("import"));
  expect([requests[0]?.method, String(requests[0]?.query)]).toEqual(["DELETE", "id=t"]);
});

test("a task is followed while the server is away, until it ends", async () => {
  vi.useFakeTimers();
  const responses = [
    () => json({ completed: false }),
    () => Promise.reject(new TypeError("lost")),
    () => json({ message: "busy" }, 503),
    () => json({ completed: true, result: { id: "c" } }),
  ];
  const requests = respond(() => (responses[requests.length - 1] ?? (() => json({}, 404)))());
  const task = new Task(about("commit"));
  const following = task.follow();
  await vi.advanceTimersByTimeAsync(0);
  expect([task.state, task.unreachable]).toEqual(["running", false]);
  await vi.advanceTimersByTimeAsync(100);
  expect([task.state, task.unreachable]).toEqual(["running", true]);
  await vi.advanceTimersByTimeAsync(150 + 225);
  await following;
  expect([task.state, task.unreachable, task.commitId]).toEqual(["done", false, "c"]);
});

test("a task that the server does not know has an unknown outcome", async () => {
  respond(() => json({ message: "not found" }, 404));
  const task = new Task(about("merge"));
  await task.follow();
  expect([task.state, outcomeOf(task)]).toEqual(["unknown", "The outcome of the merge to main is not known"]);
});

test("a watched task is left before it ends, or throws its error", async () => {
  const left = new Task(about("commit"));
  left.watched = true;
  const watching = left.watch(new Promise(() => undefined));
  left.leave();
  expect(await watching).toBe(false);
  respond(() => json({ completed: true, error: { message: "x" } }));
  const failed = new Task(about("commit"));
  failed.watched = true;
  await expect(failed.watch(failed.follow())).rejects.toThrow("x");
});

test.each([
  ["commit", "Committing to main", "Committed to main", "Nothing was committed to main"],
  ["merge", "Merging dev/1 into main", "dev/1 merged into main", "Nothing was merged to main"],
  ["import", "Importing to main", "Imported to main", "Nothing was imported to main"],
] as const)("a %s and its outcomes have their words", (kind, title, done, failed) => {
  const task = new Task(about(kind));
  expect(titleOf(task.description)).toBe(title);
  task.state = "done";
  expect(outcomeOf(task)).toBe(done);
  task.state = "failed";
  expect(outcomeOf(task)).toBe(failed);
  task.cancelled = true;
  expect(outcomeOf(task)).toBe("The import to main was cancelled");
});

test("a start keeps its key until a response arrives, and another input has another key", async () => {
  const start = new TaskStart();
  const keys: (string | undefined)[] = [];
  const lost = (headers: Record<string, string>) => {
    keys.push(headers["Idempotency-Key"]);
    return Promise.reject(unreachable());
  };
  await expect(start.send({ a: 1 }, lost)).rejects.toMatchObject({ hint: expect.stringMatching(/^Try again/) as string });
  expect(start.unsure).toBe(true);
  await expect(start.send({ a: 1 }, lost)).rejects.toBeInstanceOf(ApiError);
  await expect(start.send({ a: 2 }, lost)).rejects.toBeInstanceOf(ApiError);
  const refused = start.send({ a: 2 }, () => Promise.reject(new ApiError("no", { status: 403, hint: "ask" })));
  await expect(refused).rejects.toMatchObject({ hint: "ask" });
  expect(start.unsure).toBe(false);
  for (let count = 0; count < 2; count += 1) {
    await start.send({ a: 2 }, (headers) => Promise.resolve(keys.push(headers["Idempotency-Key"])));
  }
  const [first, again, other, same, next] = keys;
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect([again === first, other === first, same === other, next === same]).toEqual([true, false, true, false]);
});
