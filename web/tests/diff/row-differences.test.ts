import { expect, test } from "vitest";
import {
  cellText,
  columnsOf,
  joinColumns,
  loadRowDifferences,
  matchText,
  notesText,
  type RowDifference,
  splitColumns,
} from "$/diff/row-differences";
import { json, respond } from "../network";

const rows: RowDifference[] = [
  { kind: "added", key: { id: 1 }, left: null, right: { id: 1, name: "a" }, columns: [], count: 1 },
  { kind: "changed", key: { id: 2 }, left: { id: 2, old: 1 }, right: { id: 2, name: "b" }, columns: ["name"], count: 1 },
];

test("columns of the key stand apart, and others are those of any side of any row", () => {
  const { key, others } = columnsOf(rows);
  expect(key).toEqual(["id"]);
  expect(others.sort()).toEqual(["name", "old"]);
  expect(columnsOf([])).toEqual({ key: [], others: [] });
});

test("notes are said once if both sides were read alike", () => {
  const utf8 = ["Encoding: UTF-8."];
  expect(notesText({})).toBe("");
  expect(notesText({ left: [], right: utf8 })).toBe("Encoding: UTF-8.");
  expect(notesText({ left: utf8, right: utf8 })).toBe("Encoding: UTF-8.");
  const other = ["Encoding: UTF-16 LE.", "It is old."];
  expect(notesText({ left: utf8, right: other })).toBe("Before: Encoding: UTF-8. After: Encoding: UTF-16 LE. It is old.");
});

test("cells are text as they are, JSON, or empty", () => {
  expect(["a", 1, true, { a: [1] }, null, undefined].map(cellText)).toEqual(["a", "1", "true", '{"a":[1]}', "", ""]);
});

test("rows are asked for between the two references by each column of the key", async () => {
  const requests = respond(() => json({ results: rows, pagination: { has_more: false, next_offset: "" } }));
  const table = { repository: "sea", left: "main", right: "feature/1", path: "t.csv", key: ["id", "day"], wholeRows: false };
  expect((await loadRowDifferences(table, "x", 50, new AbortController().signal)).results).toEqual(rows);
  const [request] = requests;
  expect(request?.path).toBe("/api/v1/repositories/sea/refs/main/diff/feature%2F1/rows");
  expect(request?.query.getAll("key")).toEqual(["id", "day"]);
  expect(Object.fromEntries(request?.query ?? [])).toMatchObject({ path: "t.csv", after: "x", amount: "50", type: "two_dot" });
});

test("whole rows are asked for without a key", async () => {
  const requests = respond(() => json({ results: [], pagination: { has_more: false, next_offset: "" } }));
  const table = { repository: "sea", left: "main", right: "dev", path: "t.csv", key: ["id"], wholeRows: true };
  await loadRowDifferences(table, "", 50, new AbortController().signal);
  expect(requests[0]?.query.get("whole_rows")).toBe("true");
  expect(requests[0]?.query.has("key")).toBe(false);
});

test.each([
  ["", []],
  ["id", ["id"]],
  [" id , day,", ["id", "day"]],
  ['"a, b", c', ["a, b", "c"]],
  ['"say ""x""",c', ['say "x"', "c"]],
  ['a"b', ['a"b']],
  ['", "', [", "]],
])("the text %j names the columns %j", (text, names) => {
  expect(splitColumns(text)).toEqual(names);
});

test.each([[["id"]], [["a, b", "c"]], [['say "x"', " blank ", ",", '"']], [["two words", "é"]]])(
  "columns %j are the same after they were joined and split",
  (names) => {
    expect(splitColumns(joinColumns(names))).toEqual(names);
  },
);

test("readers see how rows were matched", () => {
  expect(matchText({ key: [], matched_by: "whole_rows" })).toBe("Whole rows compared");
  expect(matchText({ key: ["day", "a,b"], matched_by: "found" })).toBe('Rows matched by day, "a,b", found by the server');
  expect(matchText({ key: ["id"], matched_by: "given" })).toBe("Rows matched by id");
});
