// Differences of texts, against the longest common subsequence by dynamic programming.

import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, type LinePair } from "$/diff/lines";

const texts = fc.array(fc.constantFrom("a", "b", "c", "", "{"), { maxLength: 25 });

function longestCommon(left: readonly string[], right: readonly string[]): number {
  let lengths = new Array<number>(right.length + 1).fill(0);
  for (const line of left) {
    const next = [0];
    for (const [index, other] of right.entries()) {
      next.push(line === other ? (lengths[index] ?? 0) + 1 : Math.max(lengths[index + 1] ?? 0, next[index] ?? 0));
    }
    lengths = next;
  }
  return lengths.at(-1) ?? 0;
}

/** Returns a side of the pairs as a text, and checks that its lines are numbered. */
function side(pairs: readonly LinePair[], name: "left" | "right"): string {
  const lines = pairs.flatMap((pair) => pair[name] ?? []);
  expect(lines.map(({ number }) => number)).toEqual(lines.map((_, index) => index + 1));
  return lines.map(({ text }) => `${text}\n`).join("");
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function count(pairs: readonly LinePair[], kind: LinePair["kind"]): number {
  return pairs.filter((pair) => pair.kind === kind).length;
}

test("both sides are whole and in order", () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      const pairs = diffLines(toText(left), toText(right));
      expect(side(pairs, "left")).toBe(toText(left));
      expect(side(pairs, "right")).toBe(toText(right));
    }),
  );
});

test("as many lines are the same as can be", () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      expect(count(diffLines(toText(left), toText(right)), "same")).toBe(longestCommon(left, right));
    }),
    { numRuns: 1000 },
  );
});

test("the kind of a pair says which sides it has", () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      for (const { kind, left: one, right: other } of diffLines(toText(left), toText(right))) {
        expect([one !== undefined, other !== undefined]).toEqual([kind !== "added", kind !== "removed"]);
        if (kind === "same") expect(one?.text).toBe(other?.text);
        if (kind === "changed") expect(one?.text).not.toBe(other?.text);
      }
    }),
  );
});

test("a last line without a line feed is a line, and an empty text has none", () => {
  expect(diffLines("", "")).toEqual([]);
  expect(diffLines("a", "a\n")).toEqual(diffLines("a\n", "a"));
  expect(diffLines("", "a")).toEqual([{ kind: "added", right: { number: 1, text: "a" } }]);
  expect(count(diffLines("a\n\n", "a\n"), "removed")).toBe(1);
});

test("1000 edits are found one by one, and more replace the middle as a whole", () => {
  const lines = (length: number, name: string) => Array.from({ length }, (_, index) => `${name}${index % 2 ? index : ""}`);
  const [few, many] = [500, 501].map((length) => [
    toText(["head", ...lines(2 * length, "a"), "tail"]),
    toText(["head", ...lines(2 * length, "b").map((line, index) => (index % 2 ? line.replace("b", "a") : line)), "tail"]),
  ]);
  const fewPairs = diffLines(few?.[0] ?? "", few?.[1] ?? "");
  expect([count(fewPairs, "same"), count(fewPairs, "changed")]).toEqual([502, 500]);
  const manyPairs = diffLines(many?.[0] ?? "", many?.[1] ?? "");
  expect([count(manyPairs, "same"), count(manyPairs, "changed")]).toEqual([3, 1001]); // the last line of the middle is equal
  expect(side(manyPairs, "left")).toBe(many?.[0]);
  expect(side(manyPairs, "right")).toBe(many?.[1]);
});
