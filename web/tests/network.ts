// The network of a test: `fetch` passes each request to a function, which returns the response.

import { vi } from "vitest";

/** A request that the page has sent. */
export interface SentRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  /** The JSON of the body, undefined without one. */
  body: unknown;
}

/** Has requests get responses from a function until the test ends. Returns the list of the requests,
 * which grows as they are sent. */
export function respond(handler: (request: SentRequest) => Response | Promise<Response>): SentRequest[] {
  const requests: SentRequest[] = [];
  vi.stubGlobal("fetch", async (target: string, init: RequestInit = {}) => {
    const url = new URL(target, "http://server.test");
    const request: SentRequest = {
      method: init.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : undefined,
    };
    requests.push(request);
    init.signal?.throwIfAborted();
    return handler(request);
  });
  return requests;
}

/** Returns a response with JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json", ...headers } });
}

/** Returns the page of rows that a listing's request asks for; the name of a row is its place in the list. */
export function pageOf(rows: readonly unknown[], after: string, amount: number): Response {
  const start = after ? Number(after) : 0;
  const end = Math.min(start + amount, rows.length);
  return json({ results: rows.slice(start, end), pagination: { has_more: end < rows.length, next_offset: String(end) } });
}
