// The runs of hooks.

import { api, apiUrl, send } from "$/api/client";
import type { ActionRun, HookRun, Page } from "$/api/types";

const RUNS = "/repositories/{repository}/actions/runs";

/** Returns a page of the runs of a branch or a commit, or of all, the newest first. */
export function loadRuns(
  repository: string,
  query: { branch: string; commit: string; after: string; amount: number },
  signal: AbortSignal,
): Promise<Page<ActionRun>> {
  return api.get(RUNS, { path: { repository }, query, signal });
}

/** Returns a run. */
export function loadRun(repository: string, run_id: string, signal: AbortSignal): Promise<ActionRun> {
  return api.get(`${RUNS}/{run_id}`, { path: { repository, run_id }, signal });
}

/** Returns all hooks of a run. */
export async function loadHooks(repository: string, run_id: string, signal: AbortSignal): Promise<HookRun[]> {
  const hooks: HookRun[] = [];
  for (let after = "", more = true; more; ) {
    const path = { repository, run_id };
    const page = await api.get(`${RUNS}/{run_id}/hooks`, { path, query: { after, amount: 1000 }, signal });
    hooks.push(...page.results);
    ({ has_more: more, next_offset: after } = page.pagination);
  }
  return hooks;
}

/** Returns the address of a hook's output. */
export function outputUrl(repository: string, run: string, hook: string): string {
  return apiUrl(`${RUNS}/{run}/hooks/{hook}/output`, { repository, run, hook });
}

/** Returns what a hook has written. */
export async function loadOutput(repository: string, run: string, hook: string, signal: AbortSignal): Promise<string> {
  return send(outputUrl(repository, run, hook), { signal }, (response) => response.text());
}

/** Returns how long something took, or has taken until now; the empty string for what never began. */
export function duration({ start_time, end_time }: { start_time: string; end_time?: string }): string {
  const start = Date.parse(start_time);
  if (!(start > 0)) return ""; // a hook that was skipped
  const milliseconds = Math.max(0, (end_time ? Date.parse(end_time) : Date.now()) - start);
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
