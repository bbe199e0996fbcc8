// The users and groups that a pull request asks for a review.

import type { PullRequestReviewer } from "$/api/types";

/** A user or a group, without an answer. */
export type ReviewerName = Pick<PullRequestReviewer, "name" | "kind">;

const STATES = { waiting: "has not answered", approved: "approved", changes_requested: "asked for changes" } as const;

/** Returns what a reviewer has said. */
export function stateText(reviewer: PullRequestReviewer): string {
  return STATES[reviewer.state];
}

/** Returns a name as it is shown: that of a group says so. */
export function nameText({ name, kind }: ReviewerName): string {
  return kind === "group" ? `group ${name}` : name;
}

/** Returns reviewers and another one, who is named once. */
export function withReviewer(reviewers: readonly ReviewerName[], added: ReviewerName): ReviewerName[] {
  return [...withoutReviewer(reviewers, added), added];
}

/** Returns reviewers without one of them. */
export function withoutReviewer(reviewers: readonly ReviewerName[], removed: ReviewerName): ReviewerName[] {
  return reviewers.filter(({ name, kind }) => name !== removed.name || kind !== removed.kind);
}
