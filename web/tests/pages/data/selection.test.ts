import { expect, test } from "vitest";
import { MAX_SELECTED, Selection } from "$/pages/data/selection.svelte";

const rows = ["a/", "b", "c", "d", "e"];
const pathAt = (index: number) => rows[index];

function selected(selection: Selection): string[] {
  return [...selection.paths].sort();
}

test("a path is selected, and no longer", () => {
  const selection = new Selection();
  selection.toggle("b");
  selection.toggle("a/");
  expect(selected(selection)).toEqual(["a/", "b"]);
  selection.toggle("b");
  expect(selected(selection)).toEqual(["a/"]);
  selection.clear();
  expect(selected(selection)).toEqual([]);
});

test.each([
  ["b", "d", 3],
  ["d", "b", 1],
])("all from %s to %s are selected, in both directions", (first, last, index) => {
  const selection = new Selection();
  selection.toggle("a/");
  selection.toggle(first);
  selection.extend(last, index, pathAt);
  expect(selected(selection)).toEqual(["a/", "b", "c", "d"]);
});

test("a range goes on from where the last one ended", () => {
  const selection = new Selection();
  selection.toggle("a/");
  selection.extend("c", 2, pathAt);
  selection.extend("e", 4, pathAt);
  expect(selected(selection)).toEqual(rows);
});

test("without a place to begin, or with rows between that are not loaded, only the path itself is selected", () => {
  const selection = new Selection();
  selection.extend("d", 3, pathAt);
  expect(selected(selection)).toEqual(["d"]);
  selection.clear();
  selection.toggle("a/");
  selection.extend("d", 3, (index) => (index === 1 ? undefined : rows[index]));
  expect(selected(selection)).toEqual(["a/", "d"]);
});

test("no more are selected than can be", () => {
  const selection = new Selection();
  selection.select(Array.from({ length: MAX_SELECTED + 5 }, (_, index) => `${index}`));
  expect(selection.paths.size).toBe(MAX_SELECTED);
  selection.toggle("one more");
  expect(selection.paths.has("one more")).toBe(false);
  selection.toggle("0");
  selection.toggle("one more");
  expect(selection.paths.size).toBe(MAX_SELECTED);
});
