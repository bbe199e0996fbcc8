// The commit from which two references have diverged.

import { api } from "$/api/client";

/** Returns the id of the merge base. Throws ApiError. */
export async function mergeBase(
  repository: string,
  source: string,
  destination: string,
  signal?: AbortSignal,
): Promise<string> {
  const found = await api.get("/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}", {
    path: { repository, sourceRef: source, destinationBranch: destination },
    signal,
  });
  return found.base_commit_id;
}
