// What an operation has done to branches, tags and settings, in words, and what undoing it needs.

import type { Operation } from "$/api/types";
import { shortId } from "$/format/addresses";

type Change = Operation["changes"][number];
type Setting = Operation["settings"][number];

/** What was done to a branch or a tag: between its name and the commits that are named. */
export interface Done {
  word: "created" | "deleted" | "moved" | "reset";
  /** The commits before and after, as far as they differ. */
  commits: string[];
}

/** Names of what undoing operations needs, as the page asks for them. */
export type UndoNeed =
  | "createBranch"
  | "deleteBranch"
  | "moveBranch"
  | "createTag"
  | "deleteTag"
  | "protect"
  | "collect"
  | "propose"
  | "update";

const SETTINGS: Record<string, { name: string; need: UndoNeed }> = {
  branch_protection: { name: "Branch protection", need: "protect" },
  branch_ends: { name: "Ends of branches", need: "protect" },
  garbage_rules: { name: "Retention of commits", need: "collect" },
  undo_days: { name: "Days for undo", need: "collect" },
  metadata: { name: "Metadata", need: "update" },
  notifications: { name: "Addresses of notifications", need: "update" },
  pull_request: { name: "Pull request", need: "propose" },
};

/** Returns what has happened to a branch or a tag. */
export function done({ before, after }: Change): Done {
  if (!before) return { word: "created", commits: [after] };
  if (!after) return { word: "deleted", commits: [before] };
  if (before === after) return { word: "reset", commits: [after] };
  return { word: "moved", commits: [before, after] };
}

/** Returns what undoing a change needs. */
export function undoNeeds(change: Change): UndoNeed[] {
  const { word } = done(change);
  if (change.type === "tag") {
    return word === "created" ? ["deleteTag"] : word === "deleted" ? ["createTag"] : ["deleteTag", "createTag"];
  }
  return word === "created" ? ["deleteBranch"] : word === "deleted" ? ["createBranch"] : ["moveBranch"];
}

function pullText({ name, before, after }: Setting): string {
  const { title, status } = after as { title: string; status: string };
  const had = (before as { status: string } | null)?.status;
  const word = !had ? "created" : had === status ? "changed" : status === "open" ? "reopened" : status;
  return `Pull request ${title ? `“${title}”` : name} ${word}`; // what was given up has no title
}

/** Returns what has happened to a setting. */
export function settingText(setting: Setting): string {
  const { kind, before, after } = setting;
  if (kind === "pull_request" && after) return pullText(setting);
  const word = before === null ? "set" : after === null ? "removed" : "changed";
  return `${SETTINGS[kind]?.name ?? kind} ${word}`;
}

/** Returns what undoing the change of a setting needs. */
export function settingNeed({ kind }: Setting): UndoNeed {
  return SETTINGS[kind]?.need ?? "update";
}

/** Returns what the button that undoes an operation says. */
export function undoLabel(operation: Operation): string {
  return operation.changes.length && operation.changes.every((change) => !change.after) ? "Restore" : "Undo";
}

/** Returns an operation in one line, for screen readers and dialogs. */
export function described(operation: Operation): string {
  const texts = operation.changes.map((change) => {
    const { word, commits } = done(change);
    return `${change.type} ${change.name} ${word} ${word === "moved" ? "from" : "at"} ${commits.map(shortId).join(" to ")}`;
  });
  return [...texts, ...operation.settings.map(settingText)].join(", ");
}
