// The report on a repository's storage. The API's description says that members may be absent, for those
// that have a default; in responses none is.

import { api } from "$/api/client";

/** A number of objects and their total size in bytes. */
export interface Totals {
  objects: number;
  bytes: number;
}

/** A branch, and what only it has. */
export interface BranchSize {
  branch: string;
  total: Totals;
  unique: Totals;
}

/** The objects at a commit; the time is in seconds since 1970. */
export interface GrowthPoint {
  commit_id: string;
  created_at: number;
  total: Totals;
}

/** What the newest complete run of garbage collection found. */
export interface GarbageFound {
  run_id: string;
  state: string;
  started_at: number;
  candidates: Totals;
  due: Totals;
  swept: Totals;
  quarantined: Totals;
  /** How many objects were too young to be looked at. */
  young: number;
  /** Seconds since 1970; 0 if nothing waits. */
  next_due_at: number;
}

/** The whole report. */
export interface StorageReport {
  branches: BranchSize[];
  distinct: Totals;
  /** At no head, and kept because an operation can be undone. */
  kept_for_undo: Totals;
  growth: GrowthPoint[];
  garbage: GarbageFound | null;
  complete: boolean;
}

/** Returns the report, with at most so many points of a branch's growth. */
export async function loadReport(
  repository: string,
  branch: string,
  points: number,
  signal: AbortSignal,
): Promise<StorageReport> {
  const found = await api.get("/repositories/{repository}/storage", { path: { repository }, query: { branch, points }, signal });
  return found as StorageReport;
}

/** Finds what garbage collection would free; removes nothing. Throws ApiError. */
export async function findGarbage(repository: string): Promise<void> {
  await api.post("/repositories/{repository}/storage/garbage", { path: { repository } });
}

/** Returns what the next run would free of what a run has found: nothing of what it has removed itself. */
export function freeable({ state, due }: GarbageFound): Totals {
  return state === "swept" ? { objects: 0, bytes: 0 } : due;
}
