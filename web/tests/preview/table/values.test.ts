import { expect, test } from "vitest";
import { formatBound, formatShare, formatValue, isNumeric } from "$/preview/table/values";

test.each([
  [null, "null"],
  [undefined, "null"],
  ["a\nb", "a\nb"],
  [1.5, "1.5"],
  [false, "false"],
  [{ a: [1, null] }, '{"a":[1,null]}'],
  ["x".repeat(301), `${"x".repeat(300)}…`],
])("%j is shown as %s", (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test("numbers are of DuckDB's numeric types", () => {
  const numeric = ["TINYINT", "UTINYINT", "SMALLINT", "INTEGER", "UINTEGER", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(18,3)"];
  expect(numeric.filter((type) => !isNumeric(type))).toEqual([]);
  expect(["VARCHAR", "BOOLEAN", "DATE", "INTERVAL", "INTEGER[]", "STRUCT(a INTEGER)", "BLOB"].filter(isNumeric)).toEqual([]);
});

test.each([
  [0, 0, "0 %"],
  [0, 5, "0 %"],
  [1, 1000, "<1 %"],
  [1, 3, "33 %"],
  [5, 5, "100 %"],
])("%d of %d are %s", (part, whole, text) => {
  expect(formatShare(part, whole)).toBe(text);
});

test.each([
  [1234567.89, "1235000"],
  [0.000123456, "0.0001235"],
  ["2026-05-31 00:00:00", "2026-05-31"],
  ["a long text that does not fit", "a long text that"],
])("the bound %s is shown as %s", (value, text) => {
  expect(formatBound(value)).toBe(text);
});
