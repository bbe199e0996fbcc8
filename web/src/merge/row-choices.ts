// What is chosen for the rows of a table in conflict: a side for a row, or one for each of its cells.

import type { Page } from "$/api/types";

/** A row in conflict. A side is null if it does not have the row; `columns` are the cells that conflict. */
export interface RowConflict {
  key: Record<string, unknown>;
  kind: "both_changed" | "changed_deleted" | "deleted_changed" | "added_twice";
  columns: string[];
  base: Record<string, unknown> | null;
  source: Record<string, unknown> | null;
  destination: Record<string, unknown> | null;
}

/** A page of rows in conflict, how they are matched, and the versions that choices are for. */
export interface RowConflictPage extends Page<RowConflict> {
  key: string[];
  versions: Record<string, string | null>;
}

export type Side = "source" | "destination" | "base";
export type Take = Side | "delete";

/** The choice for a row, as the server takes it: for all that conflicts in it, or cell by cell. */
export interface RowChoice {
  key: Record<string, unknown>;
  take?: Take;
  cells?: Readonly<Record<string, Side>>;
}

/** The choices for the rows of one path, by the text of their keys, and the versions that they are for. */
export interface RowChoices {
  key: readonly string[];
  versions: Readonly<Record<string, string | null>>;
  rows: ReadonlyMap<string, RowChoice>;
  /** How many cells conflict in each of these rows; 0 if one side removed it. */
  sizes: ReadonlyMap<string, number>;
}

/** Returns the choices for rows of which none is decided yet. */
export function noChoices({ key, versions }: Pick<RowConflictPage, "key" | "versions">): RowChoices {
  return { key, versions, rows: new Map(), sizes: new Map() };
}

/** Whether choices are for the versions of a page. */
export function areOf(choices: RowChoices, { key, versions }: Pick<RowConflictPage, "key" | "versions">): boolean {
  const sides = ["base", "source", "destination"];
  return choices.key.join("\n") === key.join("\n") && sides.every((side) => choices.versions[side] === versions[side]);
}

/** Returns a text that tells a row from others. */
export function rowId(row: Pick<RowConflict, "key">): string {
  return JSON.stringify(row.key);
}

/** Returns the choices with one for a row as a whole; without one for it, if it is empty. */
export function takeRow(choices: RowChoices, row: RowConflict, take: Take | ""): RowChoices {
  return changed(choices, row, take ? { key: row.key, take } : undefined);
}

/** Returns the choices with a side for one cell of a row. */
export function takeCell(choices: RowChoices, row: RowConflict, column: string, side: Side): RowChoices {
  const known = Object.fromEntries(
    row.columns.flatMap((name): [string, Side][] => {
      const chosen = sideOf(choices, row, name);
      return chosen && chosen !== "delete" ? [[name, chosen]] : [];
    }),
  );
  return changed(choices, row, { key: row.key, cells: { ...known, [column]: side } });
}

function changed(choices: RowChoices, row: RowConflict, choice: RowChoice | undefined): RowChoices {
  const id = rowId(row);
  const rows = new Map(choices.rows);
  if (choice) rows.set(id, choice);
  else rows.delete(id);
  return { ...choices, rows, sizes: new Map(choices.sizes).set(id, row.columns.length) };
}

/** Returns what is taken for a cell, or for a row without a column. */
export function sideOf(choices: RowChoices, row: Pick<RowConflict, "key">, column = ""): Take | undefined {
  const choice = choices.rows.get(rowId(row));
  return choice?.take ?? choice?.cells?.[column];
}

/** Whether all that conflicts in a row is decided. */
export function isDecided(choices: RowChoices, id: string): boolean {
  const choice = choices.rows.get(id);
  return choice !== undefined && (!!choice.take || Object.keys(choice.cells ?? {}).length === choices.sizes.get(id));
}

/** Returns what can be taken for a row: the base only if it has the row. */
export function takesOf(row: RowConflict, source: string, destination: string): [take: Take, label: string][] {
  const removed = (side: RowConflict["source"], label: string): string => (side ? label : `${label} (removed)`);
  return [
    ["source", removed(row.source, `Take ${source}`)],
    ["destination", removed(row.destination, `Keep ${destination}`)],
    ...(row.base ? [["base", "Back to the base"] as [Take, string]] : []),
    ["delete", "Delete the row"],
  ];
}

/** Returns the options of a resolution; rows that are not wholly decided are left out, so that they stay open. */
export function rowOptions(choices: RowChoices): Record<string, unknown> {
  const decided = [...choices.rows].filter(([id]) => isDecided(choices, id)).map(([, choice]) => choice);
  return { key: choices.key, versions: choices.versions, choices: decided };
}

/** Returns the columns of a row that are shown: those that conflict, or all that differ if one side removed it. */
export function shownColumns({ columns, key, base, source, destination }: RowConflict): string[] {
  if (columns.length) return columns;
  const there = source ?? destination ?? {};
  const names = new Set([...Object.keys(there), ...Object.keys(base ?? {})]);
  return [...names].filter((name) => !(name in key) && JSON.stringify(there[name]) !== JSON.stringify(base?.[name]));
}

/** Returns a cell as it is shown, so that null, an empty text and a missing cell differ. */
export function shownCell(row: RowConflict["base"], column: string): string {
  if (!row) return "no row";
  if (!(column in row)) return "no cell";
  const value = row[column];
  if (value === "") return '""';
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the key of a row as a text. */
export function keyText(key: Readonly<Record<string, unknown>>): string {
  return Object.entries(key)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
