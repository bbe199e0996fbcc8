// What the response to a refused merge says of its conflicts: the first of them, and the number of all if it is known.

import type { Conflict } from "$/api/types";
import { countOf, formatCount } from "$/format/bytes";

export interface Refusal {
  paths: readonly string[];
  /** More about the paths, if the merge has rules for single paths. */
  entries: readonly Conflict[];
  /** How many conflicts there are; undefined if there are more than these, which the server does not count. */
  count: number | undefined;
}

/** Returns the conflicts of an error by its details; none for an error that is not about conflicts. */
export function refusalOf(details: Readonly<Record<string, unknown>>): Refusal {
  const conflicts = (details.conflicts ?? []) as (string | Conflict)[];
  const paths = conflicts.map((conflict) => (typeof conflict === "string" ? conflict : conflict.path));
  const entries = conflicts.filter((conflict) => typeof conflict !== "string");
  const count = details.has_more ? undefined : ((details.conflict_count as number | undefined) ?? paths.length);
  return { paths, entries, count };
}

/** Returns how many paths conflict, in words. */
export function refusedPaths({ paths, count }: Refusal): string {
  if (count !== undefined) return countOf(count, "path");
  // the response names no path if the user may read none of the first conflicts
  return paths.length === 0 ? "some paths" : `more than ${formatCount(paths.length)} paths`;
}
