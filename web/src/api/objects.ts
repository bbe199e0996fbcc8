// Operations on objects that several pages offer: those on a folder take many requests.

import { baseName } from "$/format/addresses";
import { api, apiUrl } from "./client";
import { ApiError } from "./error";
import type { ObjectStats } from "./types";

const PAGE_ROWS = 1000;

/** Returns the address of an object's content. */
export function contentUrl(repository: string, ref: string, path: string): string {
  return apiUrl("/repositories/{repository}/refs/{ref}/objects", { repository, ref }, { path });
}

const MAX_URL_CHARS = 8000;

/** Returns the address of a TAR archive of objects, and of what is below folders, undefined if that would be
 * longer than proxies accept. */
export function archiveUrl(repository: string, ref: string, paths: readonly string[]): string | undefined {
  const url = apiUrl("/repositories/{repository}/refs/{ref}/objects/archive", { repository, ref }, { path: paths });
  return url.length <= MAX_URL_CHARS ? url : undefined;
}

/** Returns a URL by which anybody reads an object for some minutes. Throws ApiError. */
export async function presignedUrl(repository: string, ref: string, path: string): Promise<string> {
  const stat = await api.get("/repositories/{repository}/refs/{ref}/objects/stat", {
    path: { repository, ref },
    query: { path, presign: true },
  });
  return stat.physical_address;
}

/** Yields the pages of all objects below a prefix. Throws ApiError. */
export async function* objectsBelow(
  repository: string,
  ref: string,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<ObjectStats[]> {
  let after = "";
  for (;;) {
    const page = await api.get("/repositories/{repository}/refs/{ref}/objects/ls", {
      path: { repository, ref },
      query: { prefix, after, amount: PAGE_ROWS, user_metadata: false },
      signal,
    });
    yield page.results;
    if (!page.pagination.has_more) return;
    after = page.pagination.next_offset;
  }
}

/** Called with how many objects an operation has done so far. */
type Progress = (count: number) => void;

/** Deletes objects, and all objects below those paths that end in a slash, a thousand at a time. Returns
 * how many paths were sent. Throws ApiError. */
export async function deletePaths(
  repository: string,
  branch: string,
  paths: readonly string[],
  signal: AbortSignal,
  progress: Progress,
): Promise<number> {
  let deleted = 0;
  for await (const batch of batchesOf(repository, branch, paths, signal)) {
    if (!batch.length) continue;
    const result = await api.post("/repositories/{repository}/branches/{branch}/objects/delete", {
      path: { repository, branch },
      body: { paths: batch },
      signal,
    });
    const [refused] = result.errors;
    if (refused) {
      throw new ApiError(`${refused.path || "An object"}: ${refused.message}`, { status: refused.status_code });
    }
    deleted += batch.length;
    progress(deleted);
  }
  return deleted;
}

async function* batchesOf(
  repository: string,
  branch: string,
  paths: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const objects = paths.filter((path) => !path.endsWith("/"));
  for (let start = 0; start < objects.length; start += PAGE_ROWS) yield objects.slice(start, start + PAGE_ROWS);
  for (const folder of paths.filter((path) => path.endsWith("/"))) {
    for await (const page of objectsBelow(repository, branch, folder, signal)) yield page.map(({ path }) => path);
  }
}

/** Moves objects and folders, with all below them, into a folder, which is empty or ends in a slash; one after
 * the other. Returns the number of objects that were moved. Throws ApiError, after which those stay moved that
 * `progress` has counted. */
export async function moveInto(
  repository: string,
  branch: string,
  paths: readonly string[],
  folder: string,
  { force, progress }: { force: boolean; progress: Progress },
): Promise<number> {
  let moved = 0;
  for (const [index, path] of paths.entries()) {
    const destination = folder + baseName(path);
    if (destination === path) continue;
    const { count } = await api.post("/repositories/{repository}/branches/{branch}/objects/moves", {
      path: { repository, branch },
      body: { source_path: path, destination_path: destination, force },
    });
    moved += count;
    progress(index + 1);
  }
  return moved;
}
