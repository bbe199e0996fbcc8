// The rules by which new branches end. They are replaced as a whole, on the condition that nobody else has
// changed them since they were read.

import { api, apiUrl, send } from "$/api/client";
import type { BranchEndRule } from "$/api/types";

const ENDS = "/repositories/{repository}/settings/branch_ends";

/** Rules in order, of which the first that matches decides, and what identifies this state of them. */
export interface BranchEnds {
  rules: BranchEndRule[];
  etag: string;
}

/** Returns the rules of a repository. */
export async function loadEnds(repository: string, signal?: AbortSignal): Promise<BranchEnds> {
  return send(apiUrl(ENDS, { repository }), { signal: signal ?? null }, async (response) => ({
    rules: (await response.json()) as BranchEndRule[],
    etag: response.headers.get("ETag") ?? "",
  }));
}

/** Replaces the rules. Throws ApiError, with status 412 if they have changed since they were read. */
export async function saveEnds(repository: string, rules: BranchEndRule[], etag: string): Promise<void> {
  await api.put(ENDS, { path: { repository }, body: rules, headers: { "If-Match": etag } });
}
