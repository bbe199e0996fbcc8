import { describe, expect, test } from "vitest";
import type { Operation } from "$/api/types";
import { described, done, settingNeed, settingText, undoLabel, undoNeeds } from "$/pages/activity/operations";

const A = "a".repeat(64);
const B = "b".repeat(64);

function change(type: "branch" | "tag", before: string, after: string) {
  return { type, name: "dev", before, after };
}

function operation(...changes: Operation["changes"]): Operation {
  return { id: "1", time: 0, user: "ada", request_id: "", action: "", workspace: "", changes, settings: [], undone_at: 0, given_up_at: 0 };
}

describe("what was done", () => {
  test.each([
    ["", A, "created", [A]],
    [A, "", "deleted", [A]],
    [A, A, "reset", [A]],
    [A, B, "moved", [A, B]],
  ])("from %s to %s is %s", (before, after, word, commits) => {
    expect(done(change("branch", before, after))).toEqual({ word, commits });
  });

  test("is said in one line", () => {
    const text = described(operation(change("branch", A, B), change("tag", "", A)));
    expect(text).toBe(`branch dev moved from ${A.slice(0, 12)} to ${B.slice(0, 12)}, tag dev created at ${A.slice(0, 12)}`);
  });
});

describe("undo", () => {
  test.each([
    ["branch", "", A, ["deleteBranch"]],
    ["branch", A, "", ["createBranch"]],
    ["branch", A, A, ["moveBranch"]],
    ["branch", A, B, ["moveBranch"]],
    ["tag", "", A, ["deleteTag"]],
    ["tag", A, "", ["createTag"]],
    ["tag", A, B, ["deleteTag", "createTag"]],
  ] as const)("of a %s from %s to %s needs %s", (type, before, after, needs) => {
    expect(undoNeeds(change(type, before, after))).toEqual(needs);
  });

  test("of deletions alone is called restore", () => {
    expect(undoLabel(operation(change("branch", A, ""), change("tag", A, "")))).toBe("Restore");
    expect(undoLabel(operation(change("branch", A, ""), change("tag", "", A)))).toBe("Undo");
  });
});

test("names settings, and what undoing them needs", () => {
  const protection = { kind: "branch_protection", name: "", before: null, after: [] };
  expect(settingText(protection)).toBe("Branch protection set");
  expect(settingNeed(protection)).toBe("protect");
  expect(settingText({ kind: "undo_days", name: "", before: 3, after: null })).toBe("Days for undo removed");
  const changed = { ...operation(), settings: [{ ...protection, before: [] }] };
  expect([undoLabel(changed), described(changed)]).toEqual(["Undo", "Branch protection changed"]);
});
