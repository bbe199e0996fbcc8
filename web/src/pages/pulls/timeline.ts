// What was said about a pull request, in order: comments and reviews.

import { api } from "$/api/client";
import type { PullRequestComment, PullRequestReview } from "$/api/types";

/** A comment or a review. */
export type TimelineEntry =
  | ({ type: "comment" } & PullRequestComment)
  | ({ type: "review" } & PullRequestReview);

/** All of it, and how far the approvals are. */
export interface Timeline {
  entries: TimelineEntry[];
  approvals: number;
  required: number;
}

const AMOUNT = 1000;

/** Returns the comments and reviews of a pull request, oldest first. */
export async function loadTimeline(repository: string, id: string, signal: AbortSignal): Promise<Timeline> {
  const path = { repository, pull_request: id };
  const entries: TimelineEntry[] = [];
  let [approvals, required] = [0, 0];
  for (let after = "", more = true; more; ) {
    const page = await api.get("/repositories/{repository}/pulls/{pull_request}/comments", { path, query: { after, amount: AMOUNT }, signal });
    entries.push(...page.results.map((comment) => ({ type: "comment" as const, ...comment })));
    ({ has_more: more, next_offset: after } = page.pagination);
  }
  for (let after = "", more = true; more; ) {
    const page = await api.get("/repositories/{repository}/pulls/{pull_request}/reviews", { path, query: { after, amount: AMOUNT }, signal });
    entries.push(...page.results.map((review) => ({ type: "review" as const, ...review })));
    ({ has_more: more, next_offset: after } = page.pagination);
    [approvals, required] = [page.approvals, page.required_approvals];
  }
  entries.sort((one, other) => Date.parse(one.creation_date) - Date.parse(other.creation_date));
  return { entries, approvals, required };
}
