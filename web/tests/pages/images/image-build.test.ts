import { afterEach, expect, test, vi } from "vitest";
import { ApiError } from "$/api/error";
import { build, problemOf, resolve, warningsOf } from "$/pages/images/image-build";
import { json, respond } from "../../network";

const RECIPE = { lakefile: "FROM x", arguments: {}, strict: false, allow_empty: false };

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["Lakefile:3:6: expected a name", { line: 3, message: "column 6: expected a name" }],
  ["Lakefile:12: unknown\nmore", { line: 12, message: "unknown" }],
  ["the image is empty", undefined],
  ["in Lakefile:3: x", undefined],
])("the error %j names the place %j", (message, problem) => {
  expect(problemOf(new ApiError(message))).toEqual(problem);
});

test("warnings are problems that stop nothing", () => {
  expect(warningsOf(undefined)).toEqual([]);
  expect(warningsOf({ warnings: [{ kind: "deprecated", line: 2, message: "old" }] })).toEqual([{ line: 2, message: "old", mild: true }]);
});

test("a dry run needs no tag", async () => {
  const requests = respond(() => json({}));
  await resolve("", RECIPE);
  await resolve("a:b", RECIPE);
  expect(requests.map(({ path }) => path)).toEqual(["/api/v1/images/preview:resolve", "/api/v1/images/a%3Ab:resolve"]);
  expect(requests[0]?.body).toEqual(RECIPE);
});

test("a short build ends with its response, and a long one is looked at until it ends", async () => {
  vi.useFakeTimers();
  respond(() => json({ tag: "t" }));
  const progress = vi.fn();
  await build("t", RECIPE, progress);
  expect(progress).not.toHaveBeenCalled();
  let seen = 0;
  const requests = respond(({ method }) =>
    method === "POST" ? json({ id: "b" }, 202) : json({ objects_seen: (seen += 10), completed: seen === 30 }),
  );
  const building = build("t", RECIPE, progress);
  await vi.advanceTimersByTimeAsync(1000);
  await building;
  expect(progress.mock.calls).toEqual([[10], [20], [30]]);
  expect(requests.map(({ query }) => query.get("id"))).toEqual([null, "b", "b", "b"]);
});

test("a build that fails is an error", async () => {
  respond(({ method }) => (method === "POST" ? json({ id: "b" }, 202) : json({ objects_seen: 1, completed: true, error: { message: "no such branch" } })));
  await expect(build("t", RECIPE, () => undefined)).rejects.toMatchObject({ message: "no such branch", kind: "image_build" });
});
