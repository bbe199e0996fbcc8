import { expect, test } from "vitest";
import { cellText, columnsOf, loadRowDifferences, type RowDifference } from "$/diff/row-differences";
import { json, respond } from "../network";

const rows: RowDifference[] = [
  { kind: "added", key: { id: 1 }, left: null, right: { id: 1, name: "a" }, columns: [] },
  { kind: "changed", key: { id: 2 }, left: { id: 2, old: 1 }, right: { id: 2, name: "b" }, columns: ["name"] },
];

test("columns of the key stand apart, and others are those of any side of any row", () => {
  const { key, others } = columnsOf(rows);
  expect(key).toEqual(["id"]);
  expect(others.sort()).toEqual(["name", "old"]);
  expect(columnsOf([])).toEqual({ key: [], others: [] });
});

test("cells are text as they are, JSON, or empty", () => {
  expect(["a", 1, true, { a: [1] }, null, undefined].map(cellText)).toEqual(["a", "1", "true", '{"a":[1]}', "", ""]);
});

test("rows are asked for between the two references by each column of the key", async () => {
  const requests = respond(() => json({ results: rows, pagination: { has_more: false, next_offset: "" } }));
  const table = { repository: "sea", left: "main", right: "feature/1", path: "t.csv", key: ["id", "day"] };
  expect((await loadRowDifferences(table, "x", 50, new AbortController().signal)).results).toEqual(rows);
  const [request] = requests;
  expect(request?.path).toBe("/api/v1/repositories/sea/refs/main/diff/feature%2F1/rows");
  expect(request?.query.getAll("key")).toEqual(["id", "day"]);
  expect(Object.fromEntries(request?.query ?? [])).toMatchObject({ path: "t.csv", after: "x", amount: "50", type: "two_dot" });
});
