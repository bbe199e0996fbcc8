// How the page names tasks and their outcomes.

import type { TaskDescription } from "./status";
import type { Task } from "./task.svelte";

/** Returns what a task does. */
export function titleOf({ kind, branch, source }: TaskDescription): string {
  if (kind === "commit") return `Committing to ${branch}`;
  return kind === "merge" ? `Merging ${source} into ${branch}` : `Importing to ${branch}`;
}

/** Returns what a task that has ended did. */
export function outcomeOf(task: Task): string {
  const { kind, branch, source } = task.description;
  if (task.state === "unknown") return `The outcome of the ${kind} to ${branch} is not known`;
  if (task.state === "failed") {
    if (task.cancelled) return `The import to ${branch} was cancelled`;
    return `Nothing was ${{ commit: "committed", merge: "merged", import: "imported" }[kind]} to ${branch}`;
  }
  return { commit: `Committed to ${branch}`, merge: `${source} merged into ${branch}`, import: `Imported to ${branch}` }[kind];
}
