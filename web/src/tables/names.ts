// How tables and views are called: by the path of the record of one of the Iceberg catalog, or the folder of a table
// that it does not have, and by names that people read.

import type { components } from "../api/schema";

export type ListedTable = components["schemas"]["ListedTable"];
export type View = components["schemas"]["View"];
export type TablePreview = components["schemas"]["TablePreview"];

/** The name of a table or a view of the catalog: those of its namespaces, and its own at the end. */
export type Identifier = readonly string[];

const RECORD = /^_tables\/(.+)\/(?:table|view)\.json$/su;

/** Returns the name of the table or view of the catalog whose record has a path, undefined for another path. */
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

/** Returns whether a path is that of the record of a view. */
export function isView(path: string): boolean {
  return path.endsWith("/view.json") && identifierOf(path) !== undefined;
}

/** Returns the command that registers the Iceberg table in a folder, under the names of its folders. */
export function registerCommand(repository: string, ref: string, folder: string): string {
  const parts = folder.split("/").filter(Boolean);
  const named = parts.length > 1 ? parts : ["tables", ...parts];
  const name = named.map((part) => part.replace(/%/gu, "%25").replace(/\./gu, "%2E")).join(".");
  const words = [`lakefs://${repository}/${ref}/${name}`, `s3://${repository}/${ref}/${folder}`];
  return `anabranch table register --create-namespace ${words.map(quoted).join(" ")}`;
}

/** Returns a word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replace(/'/gu, `'"'"'`)}'`;
}

/** Returns the last part of a table's name. */
export function shortName(path: string): string {
  return identifierOf(path)?.at(-1) ?? path.replace(/\/$/u, "").split("/").at(-1) ?? path;
}

/** The names of formats. */
export const FORMATS = { delta: "Delta Lake", iceberg: "Iceberg" } as const;
