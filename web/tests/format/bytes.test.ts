import fc from "fast-check";
import { expect, test } from "vitest";
import { countOf, formatBytes, formatCount } from "$/format/bytes";

test.each([
  [0, "0 B"],
  [1, "1 B"],
  [999, "999 B"],
  [1000, "0.98 KiB"],
  [1024, "1.00 KiB"],
  [10 * 1024, "10.0 KiB"],
  [100 * 1024, "100 KiB"],
  [1024 ** 2, "1.00 MiB"],
  [1.5 * 1024 ** 3, "1.50 GiB"],
  [5 * 1024 ** 6, "5.00 EiB"],
  [5000 * 1024 ** 6, "5000 EiB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("a formatted size is within 0.6 % of the size, in at most four characters", () => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  fc.assert(
    fc.property(fc.double({ min: 0, max: 60, noNaN: true }), (power) => {
      const bytes = Math.floor(2 ** power);
      const [number = "", unit = ""] = formatBytes(bytes).split(" ");
      expect(number.length).toBeLessThanOrEqual(4);
      expect(Math.abs(Number(number) * 1024 ** units.indexOf(unit) - bytes)).toBeLessThanOrEqual(0.006 * bytes);
    }),
  );
});

test("a larger size is never formatted as a smaller one", () => {
  const value = (text: string) => Number.parseFloat(text) * 1024 ** "BKMGTPE".indexOf(text.split(" ")[1]?.[0] ?? "");
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (one, other) => {
      const [less, more] = one < other ? [one, other] : [other, one];
      expect(value(formatBytes(less))).toBeLessThanOrEqual(value(formatBytes(more)));
    }),
  );
});

test("counts have separators, and nouns their number", () => {
  expect(formatCount(1234567)).toBe("1,234,567");
  expect(countOf(0, "object")).toBe("0 objects");
  expect(countOf(1, "object")).toBe("1 object");
  expect(countOf(1200, "branch", "branches")).toBe("1,200 branches");
});
