// Comments on lines and rows of differences: which are beside which line or row, and which are of lines
// and rows that are no longer there.

import { getContext, setContext } from "svelte";
import type { PullRequestComment } from "$/api/types";
import { diffLines } from "./lines";

export type Side = "before" | "after";

/** A line, or the row with these values in the key columns, of one side of the difference of a path. */
export interface CommentPlace {
  path: string;
  side: Side;
  line?: number;
  row?: Record<string, unknown>;
}

/** The comments on the differences of a page, and what adds one. */
export interface DifferenceComments {
  readonly comments: readonly PullRequestComment[];
  /** The commits of the versions that are compared; unknown ones are undefined. */
  readonly commits: Readonly<Record<Side, string | undefined>>;
  /** Why nothing can be added, empty if something can. */
  readonly refusal: string;
  add: (place: CommentPlace) => void;
}

/** Comments by `lineKey` or `rowKey`, and those whose line or row is gone. */
export interface PlacedComments {
  readonly beside: ReadonlyMap<string, readonly PullRequestComment[]>;
  readonly outdated: readonly PullRequestComment[];
}

const CONTEXT = Symbol("comments on differences");

/** Shows comments in all differences below the component that calls it. */
export function provideComments(comments: DifferenceComments): void {
  setContext(CONTEXT, comments);
}

/** Returns the comments on the differences around a component, undefined where there are none. */
export function differenceComments(): DifferenceComments | undefined {
  return getContext(CONTEXT);
}

/** Returns the key of a line. */
export function lineKey(side: Side, line: number): string {
  return `${side} ${line}`;
}

/** Returns the key of a row, whatever the order of its columns. */
export function rowKey(row: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns the number in the second text of each line of the first that it still has. */
export function keptLines(before: string, after: string): ReadonlyMap<number, number> {
  const pairs = diffLines(before, after).filter(({ kind }) => kind === "same");
  return new Map(pairs.map(({ left, right }) => [left!.number, right!.number]));
}

/** Returns comments on lines by where the lines are now. `kept` has the lines that the present version
 * still has of those of other commits; the others have gone. */
export function placeOnLines(
  comments: readonly PullRequestComment[],
  commits: DifferenceComments["commits"],
  kept: ReadonlyMap<string, ReadonlyMap<number, number>>,
): PlacedComments {
  return collect(comments, ({ place }) => {
    if (place?.line === undefined) return undefined;
    const { side, line, commit_id } = place;
    const now = commit_id === commits[side] ? line : kept.get(versionKey(side, commit_id))?.get(line);
    return now === undefined ? undefined : lineKey(side, now);
  });
}

/** Returns comments on rows by the keys of those rows that differ. */
export function placeOnRows(comments: readonly PullRequestComment[], rows: readonly Readonly<Record<string, unknown>>[]): PlacedComments {
  const shown = new Set(rows.map(rowKey));
  return collect(comments, ({ place }) => {
    const key = place?.row && rowKey(place.row);
    return key !== undefined && shown.has(key) ? key : undefined;
  });
}

/** Returns the key of the version of a side at a commit. */
export function versionKey(side: Side, commit: string): string {
  return `${side} ${commit}`;
}

/** Returns what a comment is on, as it is shown. */
export function placeText(place: PullRequestComment["place"]): string {
  if (!place) return "";
  const where = place.line === undefined ? `row ${rowText(place.row ?? {})}` : `line ${place.line}`;
  return place.side === "before" ? `${where} before the change` : where;
}

function rowText(row: Readonly<Record<string, unknown>>): string {
  return Object.entries(row)
    .map(([name, value]) => `${name} = ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function collect(comments: readonly PullRequestComment[], keyOf: (comment: PullRequestComment) => string | undefined): PlacedComments {
  const beside = new Map<string, PullRequestComment[]>();
  const outdated: PullRequestComment[] = [];
  for (const comment of comments) {
    const key = keyOf(comment);
    if (key === undefined) outdated.push(comment);
    else beside.set(key, [...(beside.get(key) ?? []), comment]);
  }
  return { beside, outdated };
}
