import fc from "fast-check";
import { expect, test } from "vitest";
import { fitted, placeAt } from "$/preview/map/drawing";

test("all of the bounds is on the canvas, in its middle", () => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  const pixels = fc.integer({ min: 50, max: 2000 });
  fc.assert(
    fc.property(unit, unit, unit, unit, pixels, pixels, (a, b, c, d, width, height) => {
      const bounds = { left: Math.min(a, b), right: Math.max(a, b), top: Math.min(c, d), bottom: Math.max(c, d) };
      const view = fitted(bounds, width, height);
      const [left, top] = placeAt(view, 0, 0, width, height);
      const [right, bottom] = placeAt(view, width, height, width, height);
      expect(left <= bounds.left && top <= bounds.top && right >= bounds.right && bottom >= bounds.bottom).toBe(true);
      expect((left + right) / 2).toBeCloseTo((bounds.left + bounds.right) / 2, 9);
      expect((top + bottom) / 2).toBeCloseTo((bounds.top + bounds.bottom) / 2, 9);
    }),
  );
});
