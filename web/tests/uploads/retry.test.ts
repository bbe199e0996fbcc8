import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, unreachable } from "$/api/error";
import { isWorthRetrying } from "$/uploads/put";
import { withRetries } from "$/uploads/retry";

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});

afterEach(() => {
  vi.useRealTimers();
});

test("work is tried again after pauses that double up to ten seconds", async () => {
  const times: number[] = [];
  const waiting = vi.fn();
  const result = withRetries(
    () => {
      times.push(Date.now());
      return times.length < 8 ? Promise.reject(unreachable()) : Promise.resolve("done");
    },
    new AbortController().signal,
    waiting,
  );
  await vi.runAllTimersAsync();
  expect(await result).toBe("done");
  expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  expect(waiting).toHaveBeenCalledTimes(8);
  expect(waiting).toHaveBeenLastCalledWith(undefined);
});

test("an error that stays is thrown at once", async () => {
  const work = vi.fn(() => Promise.reject(new ApiError("no", { status: 403 })));
  await expect(withRetries(work, new AbortController().signal, () => undefined)).rejects.toMatchObject({ status: 403 });
  expect(work).toHaveBeenCalledTimes(1);
});

test("an abort ends the pause, and no timer is left", async () => {
  const abort = new AbortController();
  const work = vi.fn(() => Promise.reject(unreachable()));
  const result = withRetries(work, abort.signal, () => undefined);
  const ended = expect(result).rejects.toMatchObject({ name: "AbortError" });
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  await ended;
  expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("what is worth trying again is temporary, or was cut off", () => {
  const errors = [unreachable(), ...[408, 429, 502, 503].map((status) => new ApiError("x", { status })), new ApiError("x", { status: 400, kind: "truncated" })];
  expect(errors.every(isWorthRetrying)).toBe(true);
  expect([new ApiError("x", { status: 400 }), new ApiError("x", { status: 500 }), new Error("x"), undefined].some(isWorthRetrying)).toBe(false);
});
