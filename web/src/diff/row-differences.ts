// The rows of a table that differ, as the server finds them by their keys.

import { api } from "$/api/client";
import type { Page } from "$/api/types";

/** A row that differs. A side is null if it does not have the row; `columns` are those that differ. */
export interface RowDifference {
  kind: "added" | "removed" | "changed";
  key: Record<string, unknown>;
  left: Record<string, unknown> | null;
  right: Record<string, unknown> | null;
  columns: string[];
}

/** What is compared: a path at two references, and the columns that identify a row, if they are given. */
export interface ComparedTable {
  repository: string;
  left: string;
  right: string;
  path: string;
  key: string[];
}

/** Returns a page of the rows that differ. */
export function loadRowDifferences(
  { repository, left, right, path, key }: ComparedTable,
  after: string,
  amount: number,
  signal: AbortSignal,
): Promise<Page<RowDifference>> {
  return api.get("/repositories/{repository}/refs/{leftRef}/diff/{rightRef}/rows", {
    path: { repository, leftRef: left, rightRef: right },
    query: { path, key, after, amount, type: "two_dot" },
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

/** Returns a cell as it is shown. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
