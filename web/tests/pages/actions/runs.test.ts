import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { duration, loadHooks, loadOutput, loadRuns } from "$/pages/actions/runs";
import { json, pageOf, respond } from "../../network";

afterEach(() => {
  vi.useRealTimers();
});

const signal = new AbortController().signal;
const START = "2026-05-31T12:00:00Z";
const lasting = (milliseconds: number) =>
  duration({ start_time: START, end_time: new Date(Date.parse(START) + milliseconds).toISOString() });

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1000, "1.0 s"],
  [9949, "9.9 s"],
  [9970, "10 s"],
  [59_499, "59 s"],
  [59_700, "1 min 0 s"],
  [119_600, "2 min 0 s"],
  [3_599_400, "59 min 59 s"],
  [3_599_600, "1 h 0 min"],
  [7_380_000, "2 h 3 min"],
])("%d milliseconds are shown as %s", (milliseconds, text) => {
  expect(lasting(milliseconds)).toBe(text);
});

test("no part of a duration is a whole of the next unit", () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(200_000), fc.nat(20_000_000)), (milliseconds) => {
      expect(lasting(milliseconds)).toMatch(/^(?:\d{1,3} ms|[1-9]\.\d s|[1-5]\d s|[1-9] min [1-5]?\d s|[1-5]\d min [1-5]?\d s|\d+ h [1-5]?\d min)$/);
    }),
    { numRuns: 500 },
  );
});

test("what runs lasts until now, and what never began has no duration", () => {
  vi.useFakeTimers({ now: Date.parse(START) + 5000 });
  expect(duration({ start_time: START })).toBe("5.0 s");
  expect(duration({ start_time: "0001-01-01T00:00:00Z", end_time: "0001-01-01T00:00:00Z" })).toBe("");
  expect(duration({ start_time: "" })).toBe("");
  expect(duration({ start_time: "2027-01-01T00:00:00Z" })).toBe("0 ms"); // the server's clock is ahead
});

test("all hooks of a run are loaded, page by page", async () => {
  const hooks = Array.from({ length: 2500 }, (_, index) => ({ hook_run_id: String(index) }));
  const requests = respond(({ query }) => pageOf(hooks, query.get("after") ?? "", Number(query.get("amount"))));
  expect(await loadHooks("sea", "r/1", signal)).toEqual(hooks);
  expect(requests.map(({ path, query }) => [path, query.get("after")])).toEqual(
    [null, "1000", "2000"].map((after) => ["/api/v1/repositories/sea/actions/runs/r%2F1/hooks", after]),
  );
});

test("runs are asked for by the filters that are set", async () => {
  const requests = respond(() => json({ results: [], pagination: { has_more: false, next_offset: "" } }));
  await loadRuns("sea", { branch: "main", commit: "", after: "", amount: 50 }, signal);
  expect(String(requests[0]?.query)).toBe("branch=main&amount=50");
});

test("the output of a hook is text", async () => {
  const requests = respond(() => new Response("a\nb"));
  expect(await loadOutput("sea", "r", "h", signal)).toBe("a\nb");
  expect(requests[0]?.path).toBe("/api/v1/repositories/sea/actions/runs/r/hooks/h/output");
});
