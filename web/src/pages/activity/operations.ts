// What an operation has done to branches and tags, in words, and what undoing it needs.

import type { Operation } from "$/api/types";
import { shortId } from "$/format/addresses";

type Change = Operation["changes"][number];

/** What was done to a branch or a tag: between its name and the commits that are named. */
export interface Done {
  word: "created" | "deleted" | "moved" | "reset";
  /** The commits before and after, as far as they differ. */
  commits: string[];
}

/** Names of what undoing operations needs, as the page asks for them. */
export type UndoNeed = "createBranch" | "deleteBranch" | "moveBranch" | "createTag" | "deleteTag";

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

/** Returns what the button that undoes an operation says. */
export function undoLabel(operation: Operation): string {
  return operation.changes.every((change) => !change.after) ? "Restore" : "Undo";
}

/** Returns an operation in one line, for screen readers and dialogs. */
export function described(operation: Operation): string {
  const texts = operation.changes.map((change) => {
    const { word, commits } = done(change);
    return `${change.type} ${change.name} ${word} ${word === "moved" ? "from" : "at"} ${commits.map(shortId).join(" to ")}`;
  });
  return texts.join(", ");
}
