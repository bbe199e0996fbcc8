// Deleting a repository, with its data or without.

import { api } from "$/api/client";
import { ApiError } from "$/api/error";
import { countOf, formatBytes } from "$/format/bytes";

const POLL_MS = 500;

/** What the server says of a purge that has ended. */
interface Ended {
  result?: { objects: number; bytes: number; kept: number };
  error?: { message: string };
}

/** Deletes a repository; the data of its objects stay in the store. Throws ApiError. */
export async function deleteRepository(repository: string): Promise<string> {
  await api.delete("/repositories/{repository}", { path: { repository } });
  return `Repository ${repository} deleted`;
}

/** Deletes a repository with its data, and returns once they are removed what was removed, in words. Calls
 * `progress` with the number of removed objects and tables. Throws ApiError. */
export async function purgeRepository(repository: string, progress: (removed: number) => void): Promise<string> {
  const query = await api.post("/repositories/{repository}/purge", { path: { repository } });
  for (;;) {
    const { completed, removed, ...state } = await api.get("/storage/namespaces/purges", { query });
    progress(removed);
    if (completed) return purged(repository, state);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function purged(repository: string, { result, error }: Ended): string {
  if (error || !result) {
    throw new ApiError(error?.message ?? "The server does not say what was removed", { kind: "purge_failed" });
  }
  const kept = result.kept ? `; ${countOf(result.kept, "file")} of others stayed` : "";
  return `Repository ${repository} deleted with ${countOf(result.objects, "object")}, ${formatBytes(result.bytes)}${kept}`;
}
