// What a snippet reads, and how programs name it.

import { baseName } from "../format/addresses";

/** An object, or a folder, whose path is empty or ends in a slash. `server` is the origin of the pages. */
export interface Source {
  server: string;
  repository: string;
  ref: string;
  path: string;
}

/** How its content is read; "bytes" is a format that tables do not have. */
export type Format = "parquet" | "csv" | "jsonl" | "bytes";

const FORMATS: readonly [RegExp, Format][] = [
  [/\.(?:parquet|pq)$/i, "parquet"],
  [/\.csv(?:\.gz)?$/i, "csv"],
  [/\.(?:jsonl|ndjson)(?:\.gz)?$/i, "jsonl"],
];

export function isFolder({ path }: Source): boolean {
  return path === "" || path.endsWith("/");
}

/** Returns the format that the name of an object says; a folder is taken to hold Parquet files. */
export function formatOf(source: Source): Format {
  if (isFolder(source)) return "parquet";
  return FORMATS.find(([pattern]) => pattern.test(source.path))?.[1] ?? "bytes";
}

/** Returns the key in S3: the repository is the bucket. */
export function keyOf({ ref, path }: Source): string {
  return `${ref}/${path}`;
}

/** Whether clients that take a key for a path of files change it, or refuse it. */
export function isUnusualPath({ path }: Source): boolean {
  const segments = path.replace(/\/$/, "").split("/");
  const isDot = segments.some((segment) => segment === "." || segment === "..");
  const isEmpty = path !== "" && segments.some((segment) => segment === "");
  return isDot || isEmpty || /\p{Cc}/u.test(path);
}

/** Whether clients take characters of a path for those of a pattern. */
export function looksLikePattern({ path }: Source): boolean {
  return /[?*[\]{}\\]/.test(path);
}

/** Returns a name for a file to download into: never one that leads elsewhere, or is an option. */
export function fileName({ path, repository }: Source): string {
  const name = baseName(path).replace(/\/$/, "");
  return `./${name === "." || name === ".." || name === "" ? repository : name}`;
}
