// @vitest-environment jsdom
import { expect, test } from "vitest";
import { ApiError } from "$/api/error";
import { failedRun } from "$/format/failed-run";

const MESSAGE = "pre-commit hook aborted, run id '4om7s2teoc4u72tu91n0': 1 error occurred:\n\t* no";
const HINT = "The outputs of the hooks: anabranch actions show lakefs://a/b 4om7s2teoc4u72tu91n0";

test("an error of a hook leads to its run, and not to a command", () => {
  const error = new ApiError(MESSAGE, { kind: "hook_failed", hint: HINT });
  expect(failedRun(error, "/repositories/a%20b/changes")).toEqual({
    href: "/repositories/a%20b/actions/4om7s2teoc4u72tu91n0",
    hint: "The outputs of the hooks",
  });
});

test("an error before any run, as of an action file that cannot be read, leads to none", () => {
  const error = new ApiError(MESSAGE, { kind: "hook_failed", hint: "Correct the file, or remove it, and try again." });
  expect(failedRun(error, "/repositories/a/compare")).toBeUndefined();
});

test("other errors, and pages of no repository, lead to no run", () => {
  expect(failedRun(new ApiError(MESSAGE, { kind: "conflict", hint: HINT }), "/repositories/a")).toBeUndefined();
  expect(failedRun(new ApiError("no id", { kind: "hook_failed", hint: HINT }), "/repositories/a")).toBeUndefined();
  expect(failedRun(new ApiError(MESSAGE, { kind: "hook_failed", hint: HINT }), "/auth/users")).toBeUndefined();
});
