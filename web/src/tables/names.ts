// How tables are called: by the path of the record of one of the Iceberg catalog, or the folder of one of
// Delta Lake, and by names that people read.

import type { components } from "../api/schema";

export type ListedTable = components["schemas"]["ListedTable"];
export type TablePreview = components["schemas"]["TablePreview"];

/** The name of a table of the catalog: those of its namespaces, and its own at the end. */
export type Identifier = readonly string[];

const RECORD = /^_tables\/(.+)\/table\.json$/su;

/** Returns the name of the table of the catalog whose record has a path, undefined for another path. */
export function identifierOf(path: string): Identifier | undefined {
  const parts = RECORD.exec(path)?.[1]?.split("/");
  if (!parts || parts.length < 2) return undefined;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined; // it stands for no name
  }
}

/** Returns a table's name for people: its parts with dots between them, or its folder. */
export function tableName(path: string): string {
  return identifierOf(path)?.join(".") ?? path.replace(/\/$/u, "");
}

/** Returns the last part of a table's name. */
export function shortName(path: string): string {
  return identifierOf(path)?.at(-1) ?? path.replace(/\/$/u, "").split("/").at(-1) ?? path;
}

/** The names of formats. */
export const FORMATS = { delta: "Delta Lake", iceberg: "Iceberg" } as const;
