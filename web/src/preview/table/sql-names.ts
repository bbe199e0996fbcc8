// How SQL names what a reference has. Names are literals: nothing in a path is SQL.

import { lakefsUri } from "$/format/addresses";

/** Formats that SQL reads by an address with a function only. */
const BY_FUNCTION = /\.(?:orc|arrows?|feather|ipc|avro)$/i;
/** More may be refused by proxies on the way of a link. */
const MAX_ADDRESS_CHARS = 8000;

/** Returns a text as a literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns what SQL reads an object's file by. */
export function sqlFile(repository: string, ref: string, path: string): string {
  const address = sqlText(lakefsUri(repository, ref, path));
  return BY_FUNCTION.test(path) ? `read_table(${address})` : address;
}

/** Returns what SQL reads a table in a folder by, whose path ends in a slash. */
export function sqlTable(format: "delta" | "iceberg", repository: string, ref: string, folder: string): string {
  return `${format}_table(${sqlText(lakefsUri(repository, ref, folder))})`;
}

/** Returns SQL with another reference of a repository in place of `from`: in addresses, and in the arguments of
 * `objects`, `object_metadata`, `changes` and `commits`, also where it is the beginning of an expression such as
 * `main~1`. SQL that names the other one already compares them, and stays as it is. */
export function atReference(sql: string, repository: string, from: string, to: string): string {
  if (!from || from === to || changed(sql, repository, to, "").count) return sql;
  return changed(sql, repository, from, to).sql;
}

function changed(sql: string, repository: string, from: string, to: string): { sql: string; count: number } {
  let count = 0;
  const put = (before: string): string => {
    count += 1;
    return before + to.replaceAll("'", "''");
  };
  const [name, ref] = [repository, from.replaceAll("'", "''")].map(escaped);
  const end = "(?=['~^@$])"; // of the literal, or an expression goes on
  const call = `\\b(?:objects|object_metadata|changes|commits)\\s*\\(\\s*'${name}'\\s*,\\s*'`;
  const right = `\\bchanges\\s*\\(\\s*'${name}'\\s*,\\s*'(?:[^']|'')*'\\s*,\\s*'`;
  const found = sql
    .replaceAll(new RegExp(`('lakefs://${name}/)${ref}(?=[/~^@$'])`, "g"), (_, before: string) => put(before))
    .replaceAll(new RegExp(`(${right})${ref}${end}`, "gi"), (_, before: string) => put(before))
    .replaceAll(new RegExp(`(${call})${ref}${end}`, "gi"), (_, before: string) => put(before));
  return { sql: found, count };
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** Whether SQL is short enough to be part of an address that others can open. */
export function fitsAddress(sql: string): boolean {
  return encodeURIComponent(sql).length <= MAX_ADDRESS_CHARS;
}
