import { expect, test } from "vitest";
import { nameText, type ReviewerName, stateText, withoutReviewer, withReviewer } from "$/pages/pulls/reviewers";

const user: ReviewerName = { name: "curators", kind: "user" };
const group: ReviewerName = { name: "curators", kind: "group" };

test("a user and a group of the same name are two reviewers", () => {
  expect(withReviewer(withReviewer([], user), group)).toEqual([user, group]);
  expect(withReviewer([user, group], user)).toEqual([group, user]);
  expect(withoutReviewer([user, group], group)).toEqual([user]);
  expect([nameText(user), nameText(group)]).toEqual(["curators", "group curators"]);
});

test("answers are worded", () => {
  expect(stateText({ ...user, state: "waiting" })).toBe("has not answered");
  expect(stateText({ ...user, state: "changes_requested" })).toBe("asked for changes");
});
