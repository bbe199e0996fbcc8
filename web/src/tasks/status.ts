// What the server says of its tasks, by kind.

import { api } from "$/api/client";
import { ApiError } from "$/api/error";

/** What names a task; it outlives the page. */
export interface TaskDescription {
  kind: "commit" | "merge" | "import";
  id: string;
  repository: string;
  branch: string;
  /** What is merged into the branch. */
  source: string;
  /** Who has started it. */
  user: string;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** How far a task is; a failed one has an error. */
export interface TaskStatus {
  completed: boolean;
  error: ApiError | undefined;
  commitId: string;
  objects: number;
}

interface Ended {
  error?: { message: string };
  status_code?: number;
  error_kind?: string;
  error_hint?: string;
}

function errorOf(status: Ended): ApiError | undefined {
  if (!status.error) return undefined;
  const { status_code = 0, error_kind = "task_failed", error_hint = "" } = status;
  return new ApiError(status.error.message, { status: status_code, kind: error_kind, hint: error_hint });
}

/** Returns how far a task is. Throws ApiError. */
export async function taskStatus({ kind, id, repository, branch, source }: TaskDescription): Promise<TaskStatus> {
  if (kind === "commit") {
    const status = await api.get("/repositories/{repository}/branches/{branch}/commits/async/{id}/status", {
      path: { repository, branch, id },
    });
    return { completed: status.completed, error: errorOf(status), commitId: status.result?.id ?? "", objects: 0 };
  }
  if (kind === "merge") {
    const status = await api.get("/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}/async/{id}/status", {
      path: { repository, sourceRef: source, destinationBranch: branch, id },
    });
    return { completed: status.completed, error: errorOf(status), commitId: status.result?.reference ?? "", objects: 0 };
  }
  const status = await api.get("/repositories/{repository}/branches/{branch}/import", { path: { repository, branch }, query: { id } });
  const { completed, commit, ingested_objects: objects } = status;
  return { completed, error: errorOf(status), commitId: commit?.id ?? "", objects };
}

/** Asks the server to stop an import: commits and merges cannot be stopped. Throws ApiError. */
export async function cancelTask({ repository, branch, id }: TaskDescription): Promise<void> {
  await api.delete("/repositories/{repository}/branches/{branch}/import", { path: { repository, branch }, query: { id } });
}
