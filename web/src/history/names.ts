// Branches and tags by the commit that they point to.

import { api } from "$/api/client";

/** A branch or tag at a commit. */
export interface CommitName {
  kind: "branch" | "tag";
  name: string;
}

/** Returns the first thousand branches and tags by the ids of their commits. */
export async function commitNames(repository: string, signal: AbortSignal): Promise<Map<string, CommitName[]>> {
  const options = { path: { repository }, query: { amount: 1000 }, signal };
  const [branches, tags] = await Promise.all([
    api.get("/repositories/{repository}/branches", options),
    api.get("/repositories/{repository}/tags", options),
  ]);
  const names = new Map<string, CommitName[]>();
  for (const [kind, list] of [["branch", branches], ["tag", tags]] as const) {
    for (const { id, commit_id } of list.results) {
      names.set(commit_id, [...(names.get(commit_id) ?? []), { kind, name: id }]);
    }
  }
  return names;
}
