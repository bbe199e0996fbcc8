// Uploads one file: a long one in parts, so that a lost connection or a restarted server costs the parts
// under way and no more; a short one, or where the store takes no parts, in one request.

import { api, apiUrl } from "$/api/client";
import { ApiError } from "$/api/error";
import { put } from "./put";
import { withRetries } from "./retry";

const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;
const PARALLEL_PARTS = 3;

/** Where a file goes. */
export interface UploadTarget {
  repository: string;
  branch: string;
  path: string;
}

/** What an upload tells while it runs. */
export interface UploadWatch {
  signal: AbortSignal;
  /** How many bytes are stored or on their way. */
  progress: (sent: number) => void;
  /** Why it waits to try again; undefined once it goes on. */
  waiting: (error: Error | undefined) => void;
}

interface Part {
  part_number: number;
  etag: string;
}

/** Uploads a file; `inParts` is whether the store takes parts by presigned URLs. Throws ApiError. */
export async function uploadFile(
  file: File,
  target: UploadTarget,
  watch: UploadWatch,
  inParts: boolean,
): Promise<void> {
  if (!inParts || file.size <= PART_BYTES) return uploadWhole(file, target, watch);
  const upload = await withRetries(() => begin(target, watch.signal), watch.signal, watch.waiting);
  if (!isOwnUrl(upload.firstUrl)) {
    // the Content-Security-Policy lets the page speak to its own server only
    await abandon(target, upload);
    return uploadWhole(file, target, watch);
  }
  try {
    const parts = await sendParts(file, target, upload.upload_id, watch);
    await withRetries(() => complete(file, target, upload, parts, watch.signal), watch.signal, watch.waiting);
  } catch (error) {
    await abandon(target, upload);
    throw error;
  }
}

async function uploadWhole(file: File, target: UploadTarget, watch: UploadWatch): Promise<void> {
  const { repository, branch, path } = target;
  const url = apiUrl("/repositories/{repository}/branches/{branch}/objects", { repository, branch }, { path });
  const { signal, progress, waiting } = watch;
  const contentType = file.type || "application/octet-stream";
  await withRetries(
    () => put({ method: "POST", url, body: file, contentType, signal, progress }),
    signal,
    waiting,
  );
  progress(file.size);
}

interface Begun {
  upload_id: string;
  physical_address: string;
  firstUrl: string;
}

async function begin({ repository, branch, path }: UploadTarget, signal: AbortSignal): Promise<Begun> {
  const begun = await api.post("/repositories/{repository}/branches/{branch}/staging/pmpu", {
    path: { repository, branch },
    query: { path, parts: 1 },
    signal,
  });
  return { ...begun, firstUrl: begun.presigned_urls?.[0] ?? "" };
}

/** Stores all parts, some at a time, and returns them in order. */
async function sendParts(
  file: File,
  target: UploadTarget,
  uploadId: string,
  watch: UploadWatch,
): Promise<Part[]> {
  const partBytes = Math.max(PART_BYTES, Math.ceil(file.size / MAX_PARTS));
  const count = Math.ceil(file.size / partBytes);
  const sent = new Array<number>(count).fill(0);
  const parts: Part[] = [];
  const failure = new AbortController(); // one part that fails ends the others
  const signal = AbortSignal.any([watch.signal, failure.signal]);
  let next = 0;

  async function worker(): Promise<void> {
    while (next < count) {
      const index = next++;
      const body = file.slice(index * partBytes, (index + 1) * partBytes);
      const progress = (bytes: number) => {
        sent[index] = Math.min(bytes, body.size);
        watch.progress(sent.reduce((sum, value) => sum + value, 0));
      };
      const send = () => sendPart(target, uploadId, index + 1, body, signal, progress);
      parts[index] = { part_number: index + 1, etag: await withRetries(send, signal, watch.waiting) };
      progress(body.size);
    }
  }

  try {
    await Promise.all(Array.from({ length: Math.min(PARALLEL_PARTS, count) }, worker));
  } catch (error) {
    failure.abort(error);
    throw error;
  }
  return parts;
}

async function sendPart(
  { repository, branch, path }: UploadTarget,
  uploadId: string,
  partNumber: number,
  body: Blob,
  signal: AbortSignal,
  progress: (sent: number) => void,
): Promise<string> {
  // a URL for each attempt: they expire
  const { presigned_url: url } = await api.put(
    "/repositories/{repository}/branches/{branch}/staging/pmpu/{uploadId}/parts/{partNumber}",
    { path: { repository, branch, uploadId, partNumber }, query: { path }, body: {}, signal },
  );
  const response = await put({ method: "PUT", url, body, signal, progress });
  const etag = response.header("ETag");
  if (!etag) throw new ApiError("The store did not return the ETag of a part.");
  return etag;
}

async function complete(
  file: File,
  { repository, branch, path }: UploadTarget,
  upload: Begun,
  parts: Part[],
  signal: AbortSignal,
): Promise<void> {
  await api.put("/repositories/{repository}/branches/{branch}/staging/pmpu/{uploadId}", {
    path: { repository, branch, uploadId: upload.upload_id },
    query: { path },
    body: { physical_address: upload.physical_address, parts, content_type: file.type },
    signal,
  });
}

/** Removes the parts of an upload that will not be completed. */
async function abandon({ repository, branch, path }: UploadTarget, upload: Begun): Promise<void> {
  try {
    await api.delete("/repositories/{repository}/branches/{branch}/staging/pmpu/{uploadId}", {
      path: { repository, branch, uploadId: upload.upload_id },
      query: { path },
      body: { physical_address: upload.physical_address },
    });
  } catch {
    // the server removes abandoned parts by itself
  }
}

function isOwnUrl(url: string): boolean {
  return URL.canParse(url) && new URL(url).origin === window.location.origin;
}
