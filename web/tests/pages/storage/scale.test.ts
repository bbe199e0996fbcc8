import fc from "fast-check";
import { expect, test } from "vitest";
import { formatBytes } from "$/format/bytes";
import { byteTicks, timePositions } from "$/pages/storage/scale";

test("ticks begin at 0, are evenly spaced, and the last is the first at or above the maximum", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 60, noNaN: true }), fc.integer({ min: 2, max: 8 }), (power, count) => {
      const max = Math.floor(2 ** power);
      const ticks = byteTicks(max, count);
      const step = ticks[1] ?? 0;
      expect(ticks[0]).toBe(0);
      for (const [index, tick] of ticks.entries()) expect(tick).toBeCloseTo(index * step, 3);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max);
      expect(ticks.at(-2)).toBeLessThan(max);
      expect(ticks.length).toBeLessThanOrEqual(count + 1);
    }),
    { numRuns: 500 },
  );
});

test("ticks have labels that differ", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 60, noNaN: true }), (power) => {
      const labels = byteTicks(Math.floor(2 ** power), 4).map(formatBytes);
      expect(new Set(labels).size).toBe(labels.length);
    }),
    { numRuns: 500 },
  );
});

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [1024, [0, 409.6, 819.2, 1228.8]],
  [7 * 1024, [0, 2048, 4096, 6144, 8192]],
])("the ticks of %d bytes are %j", (max, ticks) => {
  expect(byteTicks(max, 4)).toEqual(ticks.map((tick) => expect.closeTo(tick, 6) as number));
});

test("times stand by their distance, or evenly where they are equal", () => {
  expect(timePositions([10, 20, 50])).toEqual([0, 0.25, 1]);
  expect(timePositions([7, 7, 7])).toEqual([0, 0.5, 1]);
  expect(timePositions([7])).toEqual([0]);
  expect(timePositions([])).toEqual([]);
});
