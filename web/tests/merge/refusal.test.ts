import { expect, test } from "vitest";
import { refusalOf, refusedPaths } from "$/merge/refusal";

const entry = { path: "a", kind: "both_changed", base: null, source: null, destination: null };

test.each([
  [{}, [], 0, 0, "0 paths"],
  [{ conflicts: ["a"], conflict_count: 1, has_more: false }, ["a"], 0, 1, "1 path"],
  [{ conflicts: ["a"], conflict_count: 1200, has_more: false }, ["a"], 0, 1200, "1,200 paths"],
  [{ conflicts: ["a", "b"], has_more: true }, ["a", "b"], 0, undefined, "more than 2 paths"],
  [{ conflicts: [], has_more: true }, [], 0, undefined, "some paths"],
  [{ conflicts: [entry], conflict_count: 1, has_more: false }, ["a"], 1, 1, "1 path"],
  [{ conflicts: ["a", "b"] }, ["a", "b"], 0, 2, "2 paths"],
])("what %j says of conflicts", (details, paths, entries, count, words) => {
  const refusal = refusalOf(details);
  expect(refusal).toMatchObject({ paths, count });
  expect(refusal.entries).toHaveLength(entries);
  expect(refusedPaths(refusal)).toBe(words);
});
