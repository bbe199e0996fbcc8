// Queries to begin with: of what is at the top of a reference, and of its metadata.

import { api } from "$/api/client";
import { findReference } from "$/api/references";
import { kindOf } from "$/preview/kinds";
import { sqlFile, sqlTable, sqlText } from "$/preview/table/sql-names";

/** A query to click. */
export interface Example {
  label: string;
  sql: string;
}

/** The examples of a reference, and the name that SQL has for it. */
export interface Examples {
  reference: string;
  examples: Example[];
}

const LISTED = 200;
const MAX_FILES = 6;
/** Folders that are looked into for a table. */
const MAX_FOLDERS = 6;
const MAX_METADATA = 100;

/** Returns the name of a reference in SQL: addresses have none with blanks, such as `main@{2 hours ago}`, whose commit
 * is named then. Throws ApiError. */
export async function sqlReference(repository: string, ref: string, signal?: AbortSignal): Promise<string> {
  return /\s/.test(ref) ? (await findReference(repository, ref, signal)).commitId : ref;
}

/** Returns the queries of metadata that every reference has. */
export function metadataExamples(repository: string, ref: string): Example[] {
  const arguments_ = `${sqlText(repository)}, ${sqlText(ref)}`;
  return [
    { label: "The largest objects", sql: `SELECT path, size, last_modified\nFROM objects(${arguments_})\nORDER BY size DESC\nLIMIT 100` },
    {
      label: "Objects and bytes by folder",
      sql: `SELECT split_part(path, '/', 1) AS top, count(*) AS objects, sum(size) AS bytes\nFROM objects(${arguments_})\nGROUP BY top\nORDER BY bytes DESC`,
    },
    { label: "Commits", sql: `SELECT id, committer, creation_date, message\nFROM commits(${arguments_})\nLIMIT 100` },
    {
      label: "Changes of the last commit",
      sql: `SELECT change, path\nFROM changes(${sqlText(repository)}, ${sqlText(`${ref}~1`)}, ${sqlText(ref)})\nLIMIT 100`,
    },
  ];
}

/** Returns the examples of a reference. Throws ApiError. */
export async function loadExamples(repository: string, ref: string, signal: AbortSignal): Promise<Examples> {
  const reference = await sqlReference(repository, ref, signal);
  const list = (prefix: string, amount: number, delimiter = "") =>
    api.get("/repositories/{repository}/refs/{ref}/objects/ls", {
      path: { repository, ref },
      query: { prefix, delimiter, amount, user_metadata: false },
      signal,
    });
  const { results } = await list("", LISTED, "/");
  const folders = results.filter(({ path_type: type }) => type === "common_prefix").slice(0, MAX_FOLDERS);
  const tables = await Promise.all(
    folders.map(async ({ path }): Promise<Example[]> => {
      const [delta, iceberg] = await Promise.all([list(`${path}_delta_log/`, 1), list(`${path}metadata/`, MAX_METADATA)]);
      const format = delta.results.length ? "delta" : iceberg.results.some((each) => each.path.endsWith(".metadata.json")) ? "iceberg" : "";
      return format ? [{ label: `Rows of ${path}`, sql: `SELECT *\nFROM ${sqlTable(format, repository, reference, path)}\nLIMIT 100` }] : [];
    }),
  );
  const files = results
    .filter(({ path, content_type: type, path_type: kind }) => kind === "object" && ["table", "json"].includes(kindOf(path, type ?? "")))
    .slice(0, MAX_FILES)
    .map(({ path }) => ({ label: `Rows of ${path}`, sql: `SELECT *\nFROM ${sqlFile(repository, reference, path)}\nLIMIT 100` }));
  return { reference, examples: [...tables.flat(), ...files, ...metadataExamples(repository, reference)] };
}
