// The bytes of an object, as far as a preview needs them.

import { send } from "$/api/client";
import { ApiError } from "$/api/error";
import { contentUrl } from "$/api/objects";
import { formatBytes } from "$/format/bytes";

/** Which object. */
export interface ObjectAddress {
  repository: string;
  reference: string;
  path: string;
}

/** The most bytes of a file that has to be read whole, such as a notebook. */
export const MAX_WHOLE_BYTES = 20 * 1024 * 1024;

/** Returns the first bytes of an object, at most `length`. Throws ApiError. */
export async function firstBytes(
  { repository, reference, path }: ObjectAddress,
  size: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  if (size === 0) return new Uint8Array();
  const headers = { Range: `bytes=0-${Math.min(size, length) - 1}` };
  const url = contentUrl(repository, reference, path);
  return new Uint8Array(await send(url, { headers, signal }, (response) => response.arrayBuffer()));
}

/** Returns all bytes of an object. Throws ApiError, also for one that is too large for a preview. */
export async function allBytes(
  address: ObjectAddress,
  size: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  if (size > MAX_WHOLE_BYTES) {
    throw new ApiError(
      `The object has ${formatBytes(size)}, and previews of this type read at most ${formatBytes(MAX_WHOLE_BYTES)}.`,
      { kind: "too_large", hint: "Download it to look at it." },
    );
  }
  return firstBytes(address, size, size, signal);
}

/** Returns bytes as text, with a replacement character for what is not UTF-8. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Whether bytes are text: UTF-8, which may be cut off within a character, without zero bytes. */
export function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Returns bytes as a data: URL. */
export function dataUrl(bytes: Uint8Array, type: string): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return `data:${type};base64,${btoa(binary)}`;
}
