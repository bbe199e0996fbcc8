import { expect, test } from "vitest";
import { userActions, userActionWords } from "$/access/user-actions";

test("only an active user has sessions to end and can be deactivated", () => {
  expect(userActions(true)).toEqual(["end", "deactivate"]);
  expect(userActions(false)).toEqual(["activate"]);
});

test.each(["end", "deactivate"] as const)("users who %s their own access are warned", (action) => {
  expect(userActionWords(action, "ada", true).consequence).toMatch(/\b[Yy]ou are signed out/);
  expect(userActionWords(action, "ada", false).consequence).toMatch(/^ada /);
});
