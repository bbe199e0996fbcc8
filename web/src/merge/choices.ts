// Choices for conflicts of a merge: one for a path, or a rule for all paths that match a pattern.

import type { MergeOptions } from "$/api/types";

/** How conflicts are settled: a strategy of the server, with its options. */
export interface Choice {
  strategy: string;
  /** The columns that identify a row, for `rows`. */
  key?: string;
  /** Whether only what the log of a Delta table says counts, for `delta`. */
  snapshot?: boolean;
}

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
  ];
}

/** Returns the `resolutions` of a request; the first match of a path counts. */
export function toResolutions(
  choices: ReadonlyMap<string, Choice>,
  rules: readonly Rule[],
): NonNullable<MergeOptions["resolutions"]> {
  const resolutions: Record<string, unknown>[] = [
    ...[...choices].map(([path, choice]) => resolution(path, choice)),
    ...rules.filter(({ pattern, strategy }) => pattern && strategy).map((rule) => resolution(rule.pattern, rule)),
  ];
  return resolutions as NonNullable<MergeOptions["resolutions"]>;
}

function resolution(path: string, { strategy, key = "", snapshot = false }: Choice): Record<string, unknown> {
  const columns = key.split(",").map((name) => name.trim()).filter(Boolean);
  return {
    path,
    strategy,
    ...(strategy === "rows" && columns.length && { key: columns }),
    ...(strategy === "delta" && snapshot && { isolation: "snapshot" }),
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
