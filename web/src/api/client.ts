// The typed client of the API: `api.get("/repositories/{repository}", { path: { repository } })`. Paths,
// parameters, bodies and results are those of /openapi.json; the session's cookie authenticates.

import { type ApiError, errorFromResponse, isAbort, unreachable } from "./error";
import type { paths } from "./schema";

const BASE = "/api/v1";

type Method = "get" | "put" | "post" | "delete" | "patch";
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: object }> ? P : never;
}[keyof paths];
type Described<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Part<O, Name extends string> = O extends { parameters: infer P }
  ? P extends Record<Name, infer T>
    ? Record<Name, T>
    : P extends Partial<Record<Name, infer T>>
      ? Partial<Record<Name, Exclude<T, undefined> extends never ? undefined : T>>
      : object
  : object;
type Json<T> = T extends { content: { "application/json": infer B } } ? B : undefined;
type Body<O> = O extends { requestBody: infer B }
  ? { body: Json<B> }
  : O extends { requestBody?: infer B }
    ? { body?: Json<Exclude<B, undefined>> }
    : object;
type Success<R> = R extends { 200: infer T } ? Json<T> : R extends { 201: infer T } ? Json<T> : R extends { 202: infer T } ? Json<T> : undefined;
type Result<O> = O extends { responses: infer R } ? Success<R> : never;
type Options<O> = Part<O, "path"> & Part<O, "query"> & Body<O> & Request;
type Arguments<O> = object extends Options<O> ? [options?: Options<O>] : [options: Options<O>];

/** What every request may have. */
interface Request {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

interface AnyOptions extends Request {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

const onSignedOut: (() => void)[] = [];

/** Calls a function whenever a response says that nobody is signed in. */
export function whenSignedOut(callback: () => void): void {
  onSignedOut.push(callback);
}

/** Returns the URL of an operation. */
export function apiUrl(
  template: string,
  path: Record<string, string | number> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(path[name])),
  );
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== "") parameters.append(name, String(item));
    }
  }
  const text = parameters.toString();
  return BASE + filled + (text ? `?${text}` : "");
}

/** Returns what `read` takes from the response to a request, such as its text. Throws ApiError, also for
 * a response that breaks off; an abort stays an AbortError. */
export async function send<T>(url: string, init: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
  let error: ApiError;
  try {
    const response = await fetch(url, { credentials: "same-origin", ...init });
    if (response.ok) return await read(response);
    error = await errorFromResponse(response);
  } catch (thrown) {
    throw isAbort(thrown) || thrown instanceof SyntaxError ? thrown : unreachable();
  }
  if (error.isSignedOut) for (const callback of onSignedOut) callback();
  throw error;
}

async function call(method: Method, template: string, options: AnyOptions = {}): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const init: RequestInit = { method: method.toUpperCase(), headers };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  return send(apiUrl(template, options.path, options.query), init, (response) => {
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    return isJson ? response.json() : response.text();
  });
}

function caller<M extends Method>(method: M) {
  return <P extends PathsWith<M>>(
    path: P,
    ...[options]: Arguments<Described<P, M>>
  ): Promise<Result<Described<P, M>>> =>
    call(method, path, options) as Promise<Result<Described<P, M>>>;
}

/** The operations of the API by method and path. */
export const api = {
  get: caller("get"),
  put: caller("put"),
  post: caller("post"),
  patch: caller("patch"),
  delete: caller("delete"),
};
