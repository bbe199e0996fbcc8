// Action files of a branch: loaded, checked by the server, and written.

import { api, apiUrl, send } from "$/api/client";
import { ApiError } from "$/api/error";
import { contentUrl } from "$/api/objects";

export const FOLDER = "_lakefs_actions/";
const MAX_FILES = 200;
const MAX_BYTES = 256 << 10;

/** The first error in a file: the line, and the field such as `hooks[0].id`. */
export interface ActionProblem {
  line: number;
  field: string;
  message: string;
  hint: string;
}

/** What the server says about a file; `document` is its value, null if it is not YAML. */
export interface Validated {
  name: string;
  document: unknown;
  problem: ActionProblem | null;
}

/** A file as it was loaded. */
export interface LoadedFile {
  path: string;
  content: string;
  checksum: string;
}

/** Returns what the server says about the content of a file. */
export function validate(repository: string, path: string, content: string, signal?: AbortSignal): Promise<Validated> {
  return api.post("/repositories/{repository}/actions/validate", { path: { repository }, body: { path, content }, signal });
}

/** Returns the paths of the action files of a branch. */
export async function listFiles(repository: string, branch: string, signal: AbortSignal): Promise<string[]> {
  const page = await api.get("/repositories/{repository}/refs/{ref}/objects/ls", {
    path: { repository, ref: branch },
    query: { prefix: FOLDER, delimiter: "/", amount: MAX_FILES, user_metadata: false },
    signal,
  });
  return page.results.filter(({ path_type }) => path_type === "object").map(({ path }) => path);
}

/** Returns a file of a branch, with uncommitted changes. */
export async function loadFile(repository: string, branch: string, path: string, signal: AbortSignal): Promise<LoadedFile> {
  const { checksum, size_bytes } = await statOf(repository, branch, path, signal);
  if ((size_bytes ?? 0) > MAX_BYTES) throw new ApiError("The file is too large for an action file", { hint: "Action files have at most 256 KiB." });
  const content = await send(contentUrl(repository, branch, path), { signal }, (response) => response.text());
  return { path, content, checksum };
}

function statOf(repository: string, branch: string, path: string, signal?: AbortSignal) {
  return api.get("/repositories/{repository}/refs/{ref}/objects/stat", { path: { repository, ref: branch }, query: { path }, signal });
}

/** Writes a file on a branch, as an uncommitted change. Throws ApiError, also if a new file is there already, or the
 * one that was loaded has changed since. */
export async function writeFile(repository: string, branch: string, path: string, content: string, before?: LoadedFile): Promise<void> {
  if (before && (await statOf(repository, branch, path)).checksum !== before.checksum) {
    throw new ApiError("The file has changed since you opened it", { hint: "Copy your text, and open the file again." });
  }
  const url = apiUrl("/repositories/{repository}/branches/{branch}/objects", { repository, branch }, { path });
  const headers: Record<string, string> = { "Content-Type": "application/yaml", ...(!before && { "If-None-Match": "*" }) };
  await send(url, { method: "POST", headers, body: content }, (response) => response.text());
}

/** Returns the path of a new file by its name. */
export function pathOf(name: string): string {
  const trimmed = name.trim();
  return FOLDER + (/\.ya?ml$/.test(trimmed) ? trimmed : `${trimmed}.yaml`);
}

/** Returns what is wrong with the name of a new file. */
export function nameProblem(name: string): string {
  if (!name.trim()) return "";
  return name.includes("/") ? "Action files are directly in the folder: write no slash." : "";
}

/** Returns what is said about a field, or about what is in it. */
export function messageAt(problem: ActionProblem | null | undefined, field: string): string {
  if (!problem || !(problem.field === field || problem.field.startsWith(`${field}.`) || problem.field.startsWith(`${field}[`))) return "";
  return [problem.message, problem.hint].filter(Boolean).join(". ");
}
