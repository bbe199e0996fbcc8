// The rows of a table that differ, as the server finds them by their keys or as a whole.

import { api } from "$/api/client";
import type { Page } from "$/api/types";

/** A row that differs. A side is null if it does not have the row; `columns` are those that differ.
 * `count` is how many equal rows one side has more. */
export interface RowDifference {
  kind: "added" | "removed" | "changed";
  key: Record<string, unknown>;
  left: Record<string, unknown> | null;
  right: Record<string, unknown> | null;
  columns: string[];
  count: number;
}

/** A page of rows, and how the server matched those of both sides. */
export interface RowDifferencePage extends Page<RowDifference> {
  key: string[];
  matched_by: "given" | "found" | "whole_rows";
  /** Sentences about how each side was read, `left` and `right`. */
  notes: Record<string, string[]>;
}

/** Returns how both sides were read, once if it is alike. */
export function notesText(notes: Readonly<Record<string, string[]>>): string {
  const texts = Object.entries(notes).flatMap(([side, each]) => (each.length ? [{ side, text: each.join(" ") }] : []));
  const [first] = texts;
  if (first && texts.every(({ text }) => text === first.text)) return first.text;
  return texts.map(({ side, text }) => `${side === "left" ? "Before" : "After"}: ${text}`).join(" ");
}

/** What is compared: a path at two references, and the columns that identify a row, if they are given. */
export interface ComparedTable {
  repository: string;
  left: string;
  right: string;
  path: string;
  key: string[];
  wholeRows: boolean;
}

/** Returns a page of the rows that differ. */
export function loadRowDifferences(
  { repository, left, right, path, key, wholeRows }: ComparedTable,
  after: string,
  amount: number,
  signal: AbortSignal,
): Promise<RowDifferencePage> {
  return api.get("/repositories/{repository}/refs/{leftRef}/diff/{rightRef}/rows", {
    path: { repository, leftRef: left, rightRef: right },
    query: { path, ...(wholeRows ? { whole_rows: true } : { key }), after, amount, type: "two_dot" },
    signal,
  });
}

/** Returns the columns of rows: those of the key first. */
export function columnsOf(rows: readonly RowDifference[]): { key: string[]; others: string[] } {
  const key = new Set<string>();
  const others = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(row.key)) key.add(name);
    for (const name of Object.keys({ ...row.left, ...row.right })) others.add(name);
  }
  return { key: [...key], others: [...others].filter((name) => !key.has(name)) };
}

/** Returns names of columns as one text, separated by commas. Names with commas or quotes, or with
 * blanks at an end, are quoted. */
export function joinColumns(names: readonly string[]): string {
  return names
    .map((name) => (/[",]/.test(name) || name !== name.trim() ? `"${name.replaceAll('"', '""')}"` : name))
    .join(", ");
}

/** Returns the names of columns in a text of `joinColumns`, or typed by hand. */
export function splitColumns(text: string): string[] {
  const names = [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)].map(
    ([, quoted, bare]) => (quoted === undefined ? (bare ?? "").trim() : quoted.replaceAll('""', '"')),
  );
  return names.filter(Boolean);
}

/** Returns how rows were matched, as a text for readers. */
export function matchText({ key, matched_by }: Pick<RowDifferencePage, "key" | "matched_by">): string {
  if (matched_by === "whole_rows") return "Whole rows compared";
  return `Rows matched by ${joinColumns(key)}${matched_by === "found" ? ", found by the server" : ""}`;
}

/** Returns a cell as it is shown. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
