import fc from "fast-check";
import { expect, test } from "vitest";
import { formatAbsolute, formatDuration, formatPast, formatRelative } from "$/format/time";

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

test.each([
  [0, "just now"],
  [-9, "just now"],
  [9, "just now"],
  [-10, "10 seconds ago"],
  [-59, "59 seconds ago"],
  [-MINUTE, "1 minute ago"],
  [-HOUR + 1, "59 minutes ago"],
  [-3 * HOUR, "3 hours ago"],
  [-DAY, "yesterday"],
  [DAY, "tomorrow"],
  [-6 * DAY, "6 days ago"],
  [-7 * DAY, "last week"],
  [-30 * DAY, "4 weeks ago"],
  [-31 * DAY, "last month"],
  [-365 * DAY, "11 months ago"],
  [-366 * DAY, "last year"],
  [2 * HOUR, "in 2 hours"],
])("%d seconds from now is %s", (difference, text) => {
  expect(formatRelative(1_800_000_000 + difference, 1_800_000_000)).toBe(text);
});

test("what has happened is never in the future, however clocks differ", () => {
  const now = 1_800_000_000;
  fc.assert(
    fc.property(fc.integer({ min: -400 * DAY, max: 400 * DAY }), (difference) => {
      const text = formatPast(now + difference, now);
      expect(text).toBe(difference > 0 ? "just now" : formatRelative(now + difference, now));
    }),
  );
});

test("an absolute time reads as the same instant", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
      // `05 Jan 2026, 03:04:05 UTC`; a zone without a name reads `GMT+1`
      expect(Date.parse(formatAbsolute(seconds).replace(",", ""))).toBe(seconds * 1000);
    }),
  );
});

test.each([
  [0, "0:00"],
  [5.9, "0:05"],
  [65, "1:05"],
  [3599, "59:59"],
  [3723, "1:02:03"],
  [100 * HOUR, "100:00:00"],
])("a duration of %d seconds is %s", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test("the parts of a duration add up to its whole seconds", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (seconds) => {
      const parts = formatDuration(seconds).split(":").map(Number);
      expect(parts.reduce((sum, part) => 60 * sum + part, 0)).toBe(Math.floor(seconds));
    }),
  );
});
