// Operations on objects that several pages offer: those on a folder take many requests.

import { api, apiUrl } from "./client";
import { ApiError } from "./error";
import type { ObjectStats } from "./types";

const PAGE_ROWS = 1000;

/** Returns the address of an object's content. */
export function contentUrl(repository: string, ref: string, path: string): string {
  return apiUrl("/repositories/{repository}/refs/{ref}/objects", { repository, ref }, { path });
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

/** Deletes all objects below a prefix, a thousand at a time; `progress` is called with how many are
 * deleted. Throws ApiError. */
export async function deleteBelow(
  repository: string,
  branch: string,
  prefix: string,
  signal: AbortSignal,
  progress: (deleted: number) => void,
): Promise<number> {
  let deleted = 0;
  for await (const objects of objectsBelow(repository, branch, prefix, signal)) {
    const paths = objects.map((object) => object.path);
    if (!paths.length) continue;
    const result = await api.post("/repositories/{repository}/branches/{branch}/objects/delete", {
      path: { repository, branch },
      body: { paths },
      signal,
    });
    const [refused] = result.errors;
    if (refused) {
      throw new ApiError(`${refused.path || "An object"}: ${refused.message}`, { status: refused.status_code });
    }
    deleted += paths.length;
    progress(deleted);
  }
  return deleted;
}
