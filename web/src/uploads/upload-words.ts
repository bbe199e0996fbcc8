// What the list of uploads says about one.

import type { ApiError } from "$/api/error";
import { formatBytes } from "$/format/bytes";

interface State {
  state: "waiting" | "running" | "retrying" | "done" | "failed" | "cancelled";
  sent: number;
  size: number;
  error: ApiError | undefined;
}

/** Returns an upload's state in words, of a failed one the reason and what to do about it. */
export function uploadWords({ state, sent, size, error }: State): string {
  switch (state) {
    case "waiting":
      return "Waiting";
    case "retrying":
      return "Interrupted; trying again";
    case "failed":
      return error ? [sentence(error.message), error.hint].filter(Boolean).join(" ") : "Failed";
    case "cancelled":
      return "Cancelled";
    default:
      return `${formatBytes(sent)} of ${formatBytes(size)}`;
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
