import fc from "fast-check";
import { expect, test } from "vitest";
import type { PullRequestComment } from "$/api/types";
import { keptLines, lineKey, placeOnLines, placeOnRows, placeText, rowKey, versionKey } from "$/diff/comments";

const texts = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 20 });

function on(id: string, place: Partial<NonNullable<PullRequestComment["place"]>>): PullRequestComment {
  return { id, author: "ada", text: "t", path: "a", creation_date: "", place: { side: "after", commit_id: "now", ...place } };
}

const ids = (comments: readonly PullRequestComment[] | undefined) => (comments ?? []).map(({ id }) => id);

test("a line is followed to a line of the same text, in the same order", () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const toText = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
      const kept = [...keptLines(toText(before), toText(after))];
      for (const [old, now] of kept) expect(after[now - 1]).toBe(before[old - 1]);
      expect(kept).toEqual(kept.toSorted(([, one], [, other]) => one - other));
      expect(keptLines(toText(before), toText(before)).size).toBe(before.length);
    }),
  );
});

test("comments are beside the lines where these are now, or outdated", () => {
  const comments = [
    on("same", { line: 2 }),
    on("moved", { line: 1, commit_id: "old" }),
    on("gone", { line: 2, commit_id: "old" }),
    on("unread", { line: 1, commit_id: "older" }),
    on("left", { line: 2, side: "before", commit_id: "base" }),
  ];
  const kept = new Map([[versionKey("after", "old"), keptLines("a\nb\n", "x\na\n")]]);
  const { beside, outdated } = placeOnLines(comments, { before: "base", after: "now" }, kept);
  expect(ids(beside.get(lineKey("after", 2)))).toEqual(["same", "moved"]);
  expect(ids(beside.get(lineKey("before", 2)))).toEqual(["left"]);
  expect(ids(outdated)).toEqual(["gone", "unread"]);
});

test("comments are beside the rows of their keys, or outdated", () => {
  const row = { id: 7, day: null };
  const comments = [on("here", { row: { day: null, id: 7 } }), on("gone", { row: { id: 7, day: "" } })];
  const { beside, outdated } = placeOnRows(comments, [{ id: 8, day: null }, row]);
  expect(ids(beside.get(rowKey(row)))).toEqual(["here"]);
  expect(ids(outdated)).toEqual(["gone"]);
});

test("places are worded", () => {
  expect(placeText(undefined)).toBe("");
  expect(placeText({ side: "before", commit_id: "", line: 3 })).toBe("line 3 before the change");
  expect(placeText({ side: "after", commit_id: "", row: { id: 7, name: "x" } })).toBe("row id = 7, name = x");
});
