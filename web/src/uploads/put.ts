// Sends bytes with progress, which `fetch` does not tell.

import { ApiError, errorFromText, unreachable } from "$/api/error";

/** A request that sends a file or a part of one. */
export interface PutRequest {
  method: "PUT" | "POST";
  url: string;
  body: Blob;
  contentType?: string;
  signal: AbortSignal;
  /** Called with how many bytes were sent. */
  progress: (sent: number) => void;
}

/** What a response of success says. */
export interface PutResponse {
  header: (name: string) => string | null;
}

/** Sends bytes. Throws ApiError, or AbortError if the signal ends it. */
export function put(request: PutRequest): Promise<PutResponse> {
  const { signal } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    signal.addEventListener("abort", abort);
    xhr.open(request.method, request.url);
    xhr.setRequestHeader("Content-Type", request.contentType ?? "application/octet-stream");
    xhr.upload.onprogress = (event) => request.progress(event.loaded);
    xhr.onload = () => {
      const header = (name: string) => xhr.getResponseHeader(name);
      if (xhr.status >= 200 && xhr.status < 300) resolve({ header });
      else reject(errorFromText(xhr.status, header, xhr.responseText));
    };
    xhr.onerror = () => reject(unreachable());
    xhr.onabort = () => reject(signal.reason as Error);
    xhr.onloadend = () => signal.removeEventListener("abort", abort);
    xhr.send(request.body);
  });
}

/** Whether sending again may succeed: the server restarts, is busy, or lost the connection. */
export function isWorthRetrying(error: unknown): boolean {
  return error instanceof ApiError && (error.isTemporary || error.kind === "truncated");
}
