import { expect, test } from "vitest";
import { conflictText, OTHER, pathStrategies, type Rule, ruleStrategies, toResolutions } from "$/merge/choices";

test("choices of paths come before rules, since the first match counts", () => {
  const choices = new Map([["a/b", { strategy: "source-wins" }]]);
  const rules: Rule[] = [{ pattern: "a/*", strategy: "dest-wins" }];
  expect(toResolutions(choices, rules)).toEqual([
    { path: "a/b", strategy: "source-wins" },
    { path: "a/*", strategy: "dest-wins" },
  ]);
});

test("rules that are not filled in are left out", () => {
  const rules: Rule[] = [
    { pattern: "", strategy: "base" },
    { pattern: "a", strategy: "" },
    { pattern: "b", strategy: OTHER, name: "  " },
    { pattern: "c", strategy: OTHER, name: " mine " },
  ];
  expect(toResolutions(new Map(), rules)).toEqual([{ path: "c", strategy: "mine" }]);
});

test("options are sent with the strategy that they belong to, and no other", () => {
  const options = { key: " id, ,day ", snapshot: true, location: " s3://b/t ", name: "x" };
  const sent = (strategy: string) => toResolutions(new Map([["p", { strategy, ...options }]]), [])[0];
  expect(sent("rows")).toEqual({ path: "p", strategy: "rows", key: ["id", "day"] });
  expect(sent("delta")).toEqual({ path: "p", strategy: "delta", isolation: "snapshot" });
  expect(sent("iceberg")).toEqual({ path: "p", strategy: "iceberg", location: "s3://b/t" });
  expect(sent("text")).toEqual({ path: "p", strategy: "text" });
  expect(toResolutions(new Map([["p", { strategy: "rows", key: " , " }]]), [])).toEqual([{ path: "p", strategy: "rows" }]);
});

test("strategies have a name and a label each, and those of rules include those of paths", () => {
  const rules = ruleStrategies("dev", "main");
  expect(rules).toEqual(expect.arrayContaining(pathStrategies("dev", "main")));
  expect(new Set(rules.map(([name]) => name)).size).toBe(rules.length);
  expect(Object.fromEntries(rules)).toMatchObject({ "source-wins": "Take dev", "dest-wins": "Keep main" });
});

test.each([
  ["both_changed", "changed on both sides"],
  ["changed_deleted", "changed in dev, deleted in main"],
  ["deleted_changed", "deleted in dev, changed in main"],
  ["added_twice", "added on both sides"],
  ["new_kind", "new_kind"],
])("the conflict %s is: %s", (kind, text) => {
  expect(conflictText(kind, "dev", "main")).toBe(text);
});
