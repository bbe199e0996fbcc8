import { expect, test } from "vitest";
import { toResolutions, withoutRows } from "$/merge/choices";
import { areOf, isDecided, keyText, noChoices, type RowConflict, rowId, rowOptions, shownCell, shownColumns, sideOf, takeCell, takeRow, takesOf } from "$/merge/row-choices";

const page = { key: ["id"], versions: { base: "1", source: "2", destination: "3" } };
const row: RowConflict = {
  key: { id: "9007199254740993" },
  kind: "both_changed",
  columns: ["a", "b"],
  base: { id: "9007199254740993", a: 1, b: null },
  source: { id: "9007199254740993", a: 2, b: "" },
  destination: { id: "9007199254740993", a: 3 },
};
const removed: RowConflict = { ...row, key: { id: 5 }, kind: "changed_deleted", columns: [], base: { id: 5, a: 1, b: 1 }, source: { id: 5, a: 2, b: 1 }, destination: null };

test("a row is decided when it has a choice, or each cell that conflicts has one", () => {
  let choices = takeCell(noChoices(page), row, "a", "source");
  expect(isDecided(choices, rowId(row))).toBe(false);
  expect(rowOptions(choices)).toEqual({ ...page, choices: [] });
  choices = takeCell(choices, row, "b", "base");
  expect(isDecided(choices, rowId(row))).toBe(true);
  expect([sideOf(choices, row, "a"), sideOf(choices, row, "b"), sideOf(choices, removed)]).toEqual(["source", "base", undefined]);
  choices = takeRow(choices, removed, "delete");
  expect(rowOptions(choices)).toEqual({
    ...page,
    choices: [
      { key: { id: "9007199254740993" }, cells: { a: "source", b: "base" } },
      { key: { id: 5 }, take: "delete" },
    ],
  });
  expect(takeRow(choices, row, "").rows.has(rowId(row))).toBe(false);
});

test("the side of a row is that of its cells, until one of them has another", () => {
  const whole = takeRow(noChoices(page), row, "destination");
  expect(sideOf(whole, row, "a")).toBe("destination");
  const cells = takeCell(whole, row, "a", "source");
  expect(cells.rows.get(rowId(row))).toEqual({ key: row.key, cells: { a: "source", b: "destination" } });
  const afterDelete = takeCell(takeRow(whole, row, "delete"), row, "a", "base");
  expect(afterDelete.rows.get(rowId(row))?.cells).toEqual({ a: "base" });
});

test("choices are for the versions and the key of their page", () => {
  const choices = noChoices(page);
  expect(areOf(choices, page)).toBe(true);
  expect(areOf(choices, { ...page, key: ["a"] })).toBe(false);
  expect(areOf(choices, { ...page, versions: { ...page.versions, source: "4" } })).toBe(false);
  expect(areOf(choices, { ...page, versions: { ...page.versions, base: null } })).toBe(false);
});

test("only what a row has can be taken, and a removed row is said to be so", () => {
  expect(takesOf(removed, "dev", "main")).toEqual([
    ["source", "Take dev"],
    ["destination", "Keep main (removed)"],
    ["base", "Back to the base"],
    ["delete", "Delete the row"],
  ]);
  expect(takesOf({ ...row, base: null }, "dev", "main").map(([take]) => take)).toEqual(["source", "destination", "delete"]);
});

test("columns in conflict are shown, or those that differ of a row that one side removed", () => {
  expect(shownColumns(row)).toEqual(["a", "b"]);
  expect(shownColumns(removed)).toEqual(["a"]);
});

test("null, an empty text, a missing cell and a missing row look different", () => {
  expect([shownCell(row.base, "b"), shownCell(row.source, "b"), shownCell(row.destination, "b"), shownCell(null, "b")]).toEqual(["null", '""', "no cell", "no row"]);
  expect([shownCell(row.base, "a"), shownCell(row.base, "id")]).toEqual(["1", "9007199254740993"]);
  expect(keyText({ id: 5, day: "1 May" })).toBe("id 5, day 1 May");
});

test("the choices of a path are sent with the key and the versions that were listed", () => {
  const rows = takeRow(noChoices(page), removed, "base");
  const choices = new Map([["t", { strategy: "rows", key: "other", rows }]]);
  expect(toResolutions(choices, [])).toEqual([{ path: "t", strategy: "rows", ...page, choices: [{ key: { id: 5 }, take: "base" }] }]);
  expect(toResolutions(withoutRows(choices), [])).toEqual([{ path: "t", strategy: "rows", key: ["other"] }]);
  expect(toResolutions(new Map([["t", { strategy: "text", rows }]]), [])).toEqual([{ path: "t", strategy: "text" }]);
});
