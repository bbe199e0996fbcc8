import { expect, test } from "vitest";
import { ApiError } from "$/api/error";
import { uploadWords } from "$/uploads/upload-words";

test("a refused upload gives the reason and what to do about it", () => {
  const error = new ApiError("cannot write to protected branch", { status: 403, hint: "Write to another branch." });
  expect(uploadWords({ state: "failed", sent: 0, size: 1, error })).toBe("cannot write to protected branch. Write to another branch.");
  expect(uploadWords({ state: "failed", sent: 0, size: 1, error: new ApiError("Gone.") })).toBe("Gone.");
  expect(uploadWords({ state: "failed", sent: 0, size: 1, error: undefined })).toBe("Failed");
});

test.each([
  ["running", "1 B of 2 B"],
  ["done", "1 B of 2 B"],
  ["retrying", "Interrupted; trying again"],
] as const)("an upload that is %s reads “%s”", (state, words) => {
  expect(uploadWords({ state, sent: 1, size: 2, error: undefined })).toBe(words);
});
