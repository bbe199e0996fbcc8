// Choices for conflicts of a merge: one for a path, or a rule for all paths that match a pattern.

import type { MergeOptions } from "$/api/types";
import { rowOptions, type RowChoices } from "./row-choices";

/** How conflicts are settled: a strategy of the server, with its options. */
export interface Choice {
  strategy: string;
  /** The columns that identify a row, for `rows`. */
  key?: string;
  /** What is chosen for rows in conflict, for `rows`. */
  rows?: RowChoices;
  /** Whether only what the log of a Delta table says counts, for `delta`. */
  snapshot?: boolean;
  /** The address of the table on the destination, for `iceberg`. */
  location?: string;
  /** The name of a strategy that is installed on the server, for OTHER. */
  name?: string;
}

/** Stands for a strategy of another name. */
export const OTHER = "other";

/** A choice for all paths that match a pattern. */
export interface Rule extends Choice {
  pattern: string;
}

/** The strategies of a single path, as they are called in the page. */
export function pathStrategies(source: string, destination: string): [name: string, label: string][] {
  return [
    ["source-wins", `Take ${source}`],
    ["dest-wins", `Keep ${destination}`],
    ["base", "Back to the base"],
    ["delete", "Delete"],
    ["rows", "Merge rows"],
    ["text", "Merge lines"],
    ["json", "Merge JSON"],
  ];
}

/** The strategies of a rule. */
export function ruleStrategies(source: string, destination: string): [name: string, label: string][] {
  return [
    ...pathStrategies(source, destination),
    ["delta", "Merge Delta Lake logs"],
    ["iceberg", "Merge Iceberg tables"],
    ["fail", "Stay a conflict"],
    [OTHER, "Another strategy of the server"],
  ];
}

/** Returns the `resolutions` of a request; the first match of a path counts. */
export function toResolutions(
  choices: ReadonlyMap<string, Choice>,
  rules: readonly Rule[],
): NonNullable<MergeOptions["resolutions"]> {
  const resolutions: Record<string, unknown>[] = [
    ...[...choices].map(([path, choice]) => resolution(path, choice)),
    ...rules.filter(isWhole).map((rule) => resolution(rule.pattern, rule)),
  ];
  return resolutions as NonNullable<MergeOptions["resolutions"]>;
}

function isWhole({ pattern, strategy, name = "" }: Rule): boolean {
  return pattern !== "" && strategy !== "" && (strategy !== OTHER || name.trim() !== "");
}

/** Returns the columns that a choice names as the key of rows. */
export function keyColumns({ key = "" }: Choice): string[] {
  return key.split(",").map((name) => name.trim()).filter(Boolean);
}

/** Returns choices without those for rows, which are for versions that are no longer there. */
export function withoutRows(choices: ReadonlyMap<string, Choice>): ReadonlyMap<string, Choice> {
  return new Map([...choices].map(([path, choice]) => [path, { ...choice, rows: undefined }]));
}

function resolution(path: string, choice: Choice): Record<string, unknown> {
  const { strategy, rows, snapshot = false, location = "", name = "" } = choice;
  const columns = keyColumns(choice);
  return {
    path,
    strategy: strategy === OTHER ? name.trim() : strategy,
    ...(strategy === "rows" && columns.length && { key: columns }),
    ...(strategy === "rows" && rows?.rows.size && rowOptions(rows)),
    ...(strategy === "delta" && snapshot && { isolation: "snapshot" }),
    ...(strategy === "iceberg" && location.trim() && { location: location.trim() }),
  };
}

/** Returns what the two sides did to a path in conflict. */
export function conflictText(kind: string, source: string, destination: string): string {
  const texts: Record<string, string> = {
    both_changed: "changed on both sides",
    changed_deleted: `changed in ${source}, deleted in ${destination}`,
    deleted_changed: `deleted in ${source}, changed in ${destination}`,
    added_twice: "added on both sides",
  };
  return texts[kind] ?? kind;
}
