// Uploads against a store in the test, which takes parts by presigned URLs and loses some.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type UploadWatch, uploadFile } from "$/uploads/upload-file";
import { json, respond, type SentRequest } from "../network";

const MIB = 1024 * 1024;
const ORIGIN = "http://server.test";
const target = { repository: "sea", branch: "main", path: "a/b" };

interface Put {
  method: string;
  url: string;
  size: number;
  first: number;
}

/** What sends bytes in a browser; `statusOf` is what the store responds to each request. */
function stubUploads(statusOf: (put: Put) => number): Put[] {
  const puts: Put[] = [];
  class Request {
    upload: { onprogress?: (event: { loaded: number }) => void } = {};
    onload?: () => void;
    onerror?: () => void;
    onabort?: () => void;
    onloadend?: () => void;
    status = 0;
    responseText = "";
    #put: Put = { method: "", url: "", size: 0, first: 0 };
    #isAborted = false;

    open(method: string, url: string): void {
      this.#put = { ...this.#put, method, url };
    }
    setRequestHeader(): void {
      // the content type makes no difference here
    }
    getResponseHeader(name: string): string | null {
      return name === "ETag" ? `etag of ${this.#put.first}` : null;
    }
    abort(): void {
      this.#isAborted = true;
      this.onabort?.();
      this.onloadend?.();
    }
    async send(body: Blob): Promise<void> {
      const first = new Uint8Array(await body.slice(0, 1).arrayBuffer())[0] ?? 0;
      this.#put = { ...this.#put, size: body.size, first };
      if (this.#isAborted) return;
      puts.push(this.#put);
      this.upload.onprogress?.({ loaded: Math.ceil(body.size / 2) });
      this.status = statusOf(this.#put);
      if (this.status) this.onload?.();
      else this.onerror?.();
      this.onloadend?.();
    }
  }
  vi.stubGlobal("XMLHttpRequest", Request);
  return puts;
}

/** Returns a file of which each part of 8 MiB begins with its number. */
function fileOf(bytes: number): File {
  const content = new Uint8Array(bytes);
  for (let part = 0; part * 8 * MIB < bytes; part += 1) content[part * 8 * MIB] = part + 1;
  return new File([content], "b", { type: "text/csv" });
}

function watchOf(signal = new AbortController().signal): UploadWatch & { sent: number[]; waits: number } {
  const watch = {
    signal,
    sent: [] as number[],
    waits: 0,
    progress: (bytes: number) => void watch.sent.push(bytes),
    waiting: (error: Error | undefined) => {
      if (error) watch.waits += 1;
    },
  };
  return watch;
}

/** Responds as a server that begins uploads at `origin`. */
function serve(origin: string): SentRequest[] {
  return respond(({ method, path }) => {
    if (method === "POST") return json({ upload_id: "u", physical_address: "s3://x", presigned_urls: [`${origin}/first`] }, 201);
    const part = /\/parts\/(\d+)$/.exec(path)?.[1];
    if (part) return json({ presigned_url: `${origin}/part/${part}` });
    return method === "DELETE" ? new Response(null, { status: 204 }) : json({});
  });
}

beforeEach(() => {
  vi.stubGlobal("window", { location: { origin: ORIGIN } });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true, advanceTimeDelta: 20 });
});

afterEach(() => {
  vi.useRealTimers();
});

test("a short file, and any where the store takes no parts, is one request", async () => {
  const requests = serve(ORIGIN);
  const puts = stubUploads(() => 201);
  const watch = watchOf();
  await uploadFile(fileOf(8 * MIB), target, watch, true);
  await uploadFile(fileOf(9 * MIB), target, watchOf(), false);
  expect(puts.map(({ method, size }) => [method, size])).toEqual([["POST", 8 * MIB], ["POST", 9 * MIB]]);
  expect(puts[0]?.url).toBe("/api/v1/repositories/sea/branches/main/objects?path=a%2Fb");
  expect(watch.sent).toEqual([4 * MIB, 8 * MIB]);
  expect(requests).toEqual([]);
});

test("a long file is sent in parts, which are completed in order", async () => {
  const requests = serve(ORIGIN);
  const puts = stubUploads(() => 200);
  const watch = watchOf();
  await uploadFile(fileOf(33 * MIB), target, watch, true);
  const parts = puts.toSorted((one, other) => one.first - other.first);
  expect(parts.map(({ size }) => size / MIB)).toEqual([8, 8, 8, 8, 1]);
  expect(parts.map(({ url }) => url)).toEqual([1, 2, 3, 4, 5].map((part) => `${ORIGIN}/part/${part}`));
  expect(requests.at(-1)).toMatchObject({
    method: "PUT",
    path: "/api/v1/repositories/sea/branches/main/staging/pmpu/u",
    body: {
      physical_address: "s3://x",
      content_type: "text/csv",
      parts: [1, 2, 3, 4, 5].map((part) => ({ part_number: part, etag: `etag of ${part}` })),
    },
  });
  expect(watch.sent.at(-1)).toBe(33 * MIB);
  expect(Math.max(...watch.sent)).toBe(33 * MIB);
});

test("only a part that was lost is sent again, by another URL", async () => {
  const requests = serve(ORIGIN);
  const lost = new Set([2, 3]);
  const puts = stubUploads(({ first }) => (lost.delete(first) ? (first === 2 ? 0 : 503) : 200));
  const watch = watchOf();
  await uploadFile(fileOf(25 * MIB), target, watch, true);
  expect(puts.map(({ first }) => first).sort()).toEqual([1, 2, 2, 3, 3, 4]);
  expect(requests.filter(({ path }) => path.includes("/parts/"))).toHaveLength(6);
  expect(watch.waits).toBe(2);
});

test("a part that is refused ends the upload, and its parts are removed", async () => {
  const requests = serve(ORIGIN);
  stubUploads(({ first }) => (first === 2 ? 403 : 200));
  await expect(uploadFile(fileOf(33 * MIB), target, watchOf(), true)).rejects.toMatchObject({ status: 403 });
  expect(requests.at(-1)).toMatchObject({ method: "DELETE", body: { physical_address: "s3://x" } });
});

test("presigned URLs of another server are not used: the page may speak to its own only", async () => {
  const requests = serve("https://bucket.s3.test");
  const puts = stubUploads(() => 201);
  await uploadFile(fileOf(9 * MIB), target, watchOf(), true);
  expect(puts.map(({ method, size }) => [method, size])).toEqual([["POST", 9 * MIB]]);
  expect(requests.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
});

test("an upload that is cancelled ends, and its parts are removed", async () => {
  const requests = serve(ORIGIN);
  const abort = new AbortController();
  stubUploads(({ first }) => {
    if (first === 1) abort.abort();
    return 200;
  });
  await expect(uploadFile(fileOf(33 * MIB), target, watchOf(abort.signal), true)).rejects.toMatchObject({ name: "AbortError" });
  expect(requests.at(-1)?.method).toBe("DELETE");
});
