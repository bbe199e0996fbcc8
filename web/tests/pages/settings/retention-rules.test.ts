import { expect, test } from "vitest";
import { parseRules } from "$/pages/settings/retention-rules";

test("rules are read, with branches or without", () => {
  const rules = { default_retention_days: 21, branches: [{ branch_id: "main", retention_days: 28 }] };
  expect(parseRules(JSON.stringify(rules))).toEqual(rules);
  expect(parseRules('{"default_retention_days": 1}')).toEqual({ default_retention_days: 1, branches: [] });
  expect(parseRules('{"default_retention_days": 1, "branches": null}')).toEqual({ default_retention_days: 1, branches: [] });
});

test.each(["null", "[]", "1", "{}", '{"default_retention_days": "1"}', '{"default_retention_days": 1, "branches": {}}', '{"default_retention_days": 1, "branches": [null]}', '{"default_retention_days": 1, "branches": [{"branch_id": "main"}]}'])(
  "%s has no rules, and the error shows some",
  (text) => {
    expect(() => parseRules(text)).toThrow(/^The rules do not look like \{"default/);
  },
);

test("what is not JSON is an error", () => {
  expect(() => parseRules("{")).toThrow(SyntaxError);
});
