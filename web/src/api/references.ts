// What a reference is: a branch, which can be changed, or a tag, a commit or an expression such as
// `main~2`, which cannot.

import { api } from "./client";

/** A reference that exists. */
export interface Reference {
  name: string;
  kind: "branch" | "tag" | "commit";
  commitId: string;
}

/** Returns what a reference is. Throws ApiError if there is none. */
export async function findReference(
  repository: string,
  name: string,
  signal?: AbortSignal,
): Promise<Reference> {
  // the first name with a prefix is the prefix itself, if that is a name
  const query = { prefix: name, amount: 1 };
  const path = { repository };
  const branches = await api.get("/repositories/{repository}/branches", {
    path,
    query: { ...query, show_hidden: true },
    signal,
  });
  const [branch] = branches.results;
  if (branch?.id === name) return { name, kind: "branch", commitId: branch.commit_id };
  const tags = await api.get("/repositories/{repository}/tags", { path, query, signal });
  const [tag] = tags.results;
  if (tag?.id === name) return { name, kind: "tag", commitId: tag.commit_id };
  const commit = await api.get("/repositories/{repository}/commits/{commitId}", {
    path: { repository, commitId: name },
    signal,
  });
  return { name, kind: "commit", commitId: commit.id };
}
