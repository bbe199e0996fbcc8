// Building images: a dry run, the build itself, and what is wrong with a Lakefile.

import { api } from "$/api/client";
import { ApiError } from "$/api/error";
import type { Image, ImagePreview } from "$/api/types";
import type { Problem } from "$/components/code-problem";

/** What is to be built. */
export interface Recipe {
  lakefile: string;
  arguments: Record<string, string>;
  strict: boolean;
  allow_empty: boolean;
}

const WAIT_SECONDS = 2;
const POLL_MS = 500;

/** Returns what would be built. Throws ApiError. */
export function resolve(tag: string, body: Recipe, signal?: AbortSignal): Promise<ImagePreview> {
  return api.post("/images/{tag}:resolve", { path: { tag: tag || "preview" }, body, signal });
}

/** Builds an image, and returns once it is there. Throws ApiError. */
export async function build(tag: string, body: Recipe, progress: (objects: number) => void): Promise<void> {
  const path = { tag };
  const started = (await api.post("/images/{tag}", { path, query: { wait: WAIT_SECONDS }, body })) as Image | { id: string };
  if (!("id" in started)) return;
  for (;;) {
    const state = await api.get("/images/{tag}:builds", { path, query: { id: started.id } });
    progress(state.objects_seen);
    if (state.error) throw new ApiError(state.error.message, { kind: "image_build" });
    if (state.completed) return;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

/** Returns the place in a Lakefile that an error names: `Lakefile:3:6: expected …`. */
export function problemOf(error: ApiError): Problem | undefined {
  const found = /^Lakefile:(\d+)(?::(\d+))?: ([^\n]*)/.exec(error.message);
  if (!found) return undefined;
  const column = found[2] ? `column ${found[2]}: ` : "";
  return { line: Number(found[1]), message: column + found[3]! };
}

/** Returns the warnings of a preview at their lines. */
export function warningsOf(preview: Pick<ImagePreview, "warnings"> | undefined): Problem[] {
  return (preview?.warnings ?? []).map(({ line, message }) => ({ line, message, mild: true }));
}
