// The run of hooks that an error is about.

import type { ApiError } from "$/api/error";
import { links } from "$/router/links";

/** The end of the hint of an error whose run is recorded: the command that shows it. */
const COMMAND = /:\s*anabranch actions show \S+ \S+$/;

/** Returns the address of the run that refused a change, and the hint without the command that shows it;
 * undefined for other errors. `path` is the page's, which names the repository. */
export function failedRun(error: ApiError, path: string): { href: string; hint: string } | undefined {
  if (error.kind !== "hook_failed" || !COMMAND.test(error.hint)) return undefined;
  const id = /\brun id '([^']+)'/.exec(error.message)?.[1];
  const repository = /^\/repositories\/([^/]+)/.exec(path)?.[1];
  if (!id || !repository) return undefined;
  return { href: links.run(decodeURIComponent(repository), id), hint: error.hint.replace(COMMAND, "") };
}
