// What can be done with a commit, as a menu.

import { type Need, anyTag, branchArn } from "$/access/own-permissions";
import type { Commit } from "$/api/types";
import type { MenuItem } from "$/components/menu-item";
import { copy } from "$/components/copy";
import { lakefsUri } from "$/format/addresses";
import { links } from "$/router/links";

/** A dialog about a commit. */
export type CommitDialog = "revert" | "cherry-pick" | "branch" | "tag";

/** Returns what the dialogs need; those that change a branch may change any. */
export function commitNeeds(repository: string): Record<CommitDialog, readonly Need[]> {
  const anyBranch = branchArn(repository);
  return {
    revert: [{ action: "fs:RevertBranch", resource: anyBranch }],
    "cherry-pick": [{ action: "fs:CreateCommit", resource: anyBranch }],
    branch: [{ action: "fs:CreateBranch", resource: anyBranch }],
    tag: [{ action: "fs:CreateTag", resource: anyTag(repository) }],
  };
}

/** Returns the entries of a commit's menu. `refusal` returns why the server would refuse what a dialog does. */
export function commitActions(
  repository: string,
  commit: Commit,
  refusal: (dialog: CommitDialog) => string,
  show: (dialog: CommitDialog) => void,
): MenuItem[] {
  const { id } = commit;
  const hasParent = commit.parents.length > 0;
  return [
    { label: "Browse the data", icon: "folder", href: links.objects(repository, id) },
    { label: "Runs of hooks", icon: "actions", href: links.actions(repository, { commit: id }) },
    { label: "Copy commit id", icon: "copy", run: () => void copy(id, "Commit id") },
    { label: "Copy URI", icon: "copy", run: () => void copy(lakefsUri(repository, id), "URI") },
    { label: "Create branch here", icon: "branch", refusal: refusal("branch"), run: () => show("branch") },
    { label: "Create tag here", icon: "tag", refusal: refusal("tag"), run: () => show("tag") },
    { label: "Cherry-pick to a branch", icon: "commit", disabled: !hasParent, refusal: refusal("cherry-pick"), run: () => show("cherry-pick") },
    { label: "Revert on a branch", icon: "revert", danger: true, disabled: !hasParent, refusal: refusal("revert"), run: () => show("revert") },
  ];
}
