import { expect, test } from "vitest";
import type { Commit } from "$/api/types";
import { commitActions, commitNeeds } from "$/history/commit-actions";

function commit(parents: string[]): Commit {
  return { id: "c0", parents, committer: "ann", message: "", creation_date: 0, meta_range_id: "", metadata: {}, generation: 1, version: 1 };
}

test("only a commit with a parent can be reverted or cherry-picked", () => {
  const disabled = (parents: string[]) =>
    commitActions("sea", commit(parents), () => "", () => undefined).filter((item) => item.disabled).map(({ label }) => label);
  expect(disabled(["p"])).toEqual([]);
  expect(disabled([])).toEqual(["Cherry-pick to a branch", "Revert on a branch"]);
});

test("entries open their dialogs, or lead to pages of the commit", () => {
  const shown: string[] = [];
  const items = commitActions("sea", commit(["p"]), () => "", (dialog) => shown.push(dialog));
  for (const { label, run } of items) if (!label.startsWith("Copy")) run?.();
  expect(shown).toEqual(["branch", "tag", "cherry-pick", "revert"]);
  expect(items.flatMap(({ href }) => href ?? [])).toEqual([
    "/repositories/sea/objects?ref=c0",
    "/repositories/sea/actions?commit=c0",
  ]);
});

test("entries whose dialogs would be refused say so", () => {
  const items = commitActions("sea", commit(["p"]), (dialog) => `no ${dialog}`, () => undefined);
  expect(items.flatMap(({ refusal }) => refusal ?? [])).toEqual(["no branch", "no tag", "no cherry-pick", "no revert"]);
  expect(commitNeeds("sea").revert).toEqual([{ action: "fs:RevertBranch", resource: "arn:lakefs:fs:::repository/sea/branch/*" }]);
});
