// The two versions of an object that are compared, and what of them can be shown.

import { apiUrl, send } from "$/api/client";
import { api } from "$/api/client";
import { ApiError } from "$/api/error";
import type { ObjectStats } from "$/api/types";

/** The largest text that is compared in the page. */
export const MAX_TEXT_BYTES = 2 << 20;

/** An object at a reference; undefined if there is none. */
export async function findObject(
  repository: string,
  ref: string,
  path: string,
  signal?: AbortSignal,
): Promise<ObjectStats | undefined> {
  try {
    return await api.get("/repositories/{repository}/refs/{ref}/objects/stat", {
      path: { repository, ref },
      query: { path },
      signal,
    });
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return undefined;
    throw error;
  }
}

/** Returns the text of an object, or undefined if it is none: not in UTF-8, or with control characters. */
export async function readText(
  repository: string,
  ref: string,
  path: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const url = apiUrl("/repositories/{repository}/refs/{ref}/objects", { repository, ref }, { path });
  const bytes = await send(url, { signal: signal ?? null }, (response) => response.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

const TABLE = /\.(?:(?:csv|tsv|tab|psv|jsonl|ndjson)(?:\.(?:gz|zst))?|parquet|pq|parq|arrow|feather|orc|avro)$/i;
const NO_TEXT = /\.(parquet|orc|avro|arrow|feather|zip|gz|zst|bz2|xz|png|jpe?g|gif|webp|pdf|bin|pt|onnx|npy|h5)$/i;

/** Whether a path looks like a table whose rows can be compared. */
export function looksLikeTable(path: string): boolean {
  return TABLE.test(path);
}

/** Whether an object may be a text that is small enough to be compared. */
export function mayBeText(path: string, ...sizes: (number | undefined)[]): boolean {
  return !NO_TEXT.test(path) && sizes.every((size) => (size ?? 0) <= MAX_TEXT_BYTES);
}
