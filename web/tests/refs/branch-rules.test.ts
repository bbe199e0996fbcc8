// Rules for branches are loaded and replaced; their patterns are matched as on the server: the cases are those
// of its tests.

import fc from "fast-check";
import { expect, test } from "vitest";
import { loadRules, ruleOf, saveRules } from "$/refs/branch-rules";
import cases from "../../../tests/patterns/glob_patterns.json";
import { json, respond } from "../network";

function matches(pattern: string, branch: string): boolean {
  return ruleOf(branch, [{ pattern }]) !== undefined;
}

test.each(cases.patterns)("$pattern matches the branches that it matches on the server", ({ pattern, matching, others }) => {
  expect(matching.filter((branch) => !matches(pattern, branch))).toEqual([]);
  expect(others.filter((branch) => matches(pattern, branch))).toEqual([]);
});

test.each(cases.malformed)("the malformed pattern %j protects all branches, as on the server", (pattern) => {
  expect(matches(pattern, "any")).toBe(true);
});

/** Returns whether a pattern of literals, `?` and `*` matches, by trying each length of each `*`. */
function matchesSlowly(pattern: string, text: string): boolean {
  if (!pattern) return !text;
  const [first, rest] = [pattern[0], pattern.slice(1)];
  if (first === "*") return matchesSlowly(rest, text) || (text !== "" && matchesSlowly(pattern, text.slice(1)));
  return text !== "" && (first === "?" || first === text[0]) && matchesSlowly(rest, text.slice(1));
}

test("patterns of * and ? match as by trying everything", () => {
  const patterns = fc.stringMatching(/^[ab.*?]{0,7}$/);
  const texts = fc.stringMatching(/^[ab.]{0,7}$/);
  fc.assert(
    fc.property(patterns, texts, (pattern, text) => {
      expect(matches(pattern, text)).toBe(matchesSlowly(pattern, text));
    }),
    { numRuns: 1000 },
  );
});

test("any text is a pattern or protects all branches", () => {
  fc.assert(fc.property(fc.string(), fc.string(), (pattern, branch) => void matches(pattern, branch)));
});

test("the first rule that matches is returned", () => {
  const rules = [{ pattern: "dev" }, { pattern: "ma*" }, { pattern: "main" }];
  expect(ruleOf("main", rules)).toBe(rules[1]);
  expect(ruleOf("other", rules)).toBeUndefined();
});

test.each([
  ["protection", [{ pattern: "main" }], "branch_protection"],
  ["ends", [{ pattern: "tmp-*", expires: "7d", hidden: false }], "branch_ends"],
] as const)("rules of %s are replaced on the condition that they have not changed since they were read", async (kind, stored, name) => {
  const requests = respond(({ method }) => (method === "GET" ? json(stored, 200, { ETag: '"e1"' }) : new Response(null, { status: 204 })));
  const { rules, etag } = await loadRules(kind, "sea");
  expect({ rules, etag }).toEqual({ rules: stored, etag: '"e1"' });
  await saveRules(kind, "sea", rules, etag);
  expect(requests.map(({ path }) => path)).toEqual(Array(2).fill(`/api/v1/repositories/sea/settings/${name}`));
  expect(requests[1]).toMatchObject({ method: "PUT", body: rules });
  expect(requests[1]?.headers.get("If-Match")).toBe('"e1"');
});
