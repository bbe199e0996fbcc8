import { describe, expect, test } from "vitest";
import type { Operation } from "$/api/types";
import { isUndoable, recordNeeds, recordText } from "$/pages/administration/installation-operations";
import { settingNeed, settingText } from "$/pages/activity/operations";

function operation(kind: string): Operation {
  const settings = [{ kind, name: "x", before: null, after: {} }];
  return { id: "1", time: 0, user: "", request_id: "", action: "", workspace: "", changes: [], settings, undone_at: 0, given_up_at: 0 };
}

describe("a record of the installation", () => {
  test.each([
    ["policy", null, {}, "Policy x created", ["deletePolicy"]],
    ["policy", {}, {}, "Policy x changed", ["updatePolicy"]],
    ["repository", {}, null, "Repository x deleted", ["createRepository"]],
    ["membership", {}, null, "Member x removed", ["addMember"]],
    ["user_policy", null, {}, "Policy of a user x attached", ["detachFromUser"]],
    ["user", {}, null, "User x deleted", []],
    ["of a later version", null, {}, "of a later version x created", []],
  ])("of the kind %s from %o to %o is told, with its needs", (kind, before, after, text, needs) => {
    const setting = { kind, name: "x", before, after };
    expect(recordText(setting)).toBe(text);
    expect(recordNeeds(setting)).toEqual(needs);
  });

  test("of a user is not undone, nor one that is undone", () => {
    expect(isUndoable(operation("user"))).toBe(false);
    expect(isUndoable(operation("policy"))).toBe(true);
    expect(isUndoable({ ...operation("policy"), undone_at: 1 })).toBe(false);
  });
});

test.each([
  [null, "open", "created"],
  ["open", "merged", "merged"],
  ["merged", "open", "reopened"],
  ["open", "closed", "closed"],
  ["open", "open", "changed"],
])("a pull request from %s to %s was %s", (before, after, word) => {
  const at = (status: string | null) => (status === null ? null : { title: "Add", status });
  const setting = { kind: "pull_request", name: "1", before: at(before), after: at(after) };
  expect(settingText(setting)).toBe(`Pull request “Add” ${word}`);
  expect(settingNeed(setting)).toBe("propose");
});
