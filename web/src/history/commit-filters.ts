// Filters of a history: by path, author and time. The server knows paths and the earliest time; the rest
// is sought here, page by page.

import { api } from "$/api/client";
import type { Commit, Page } from "$/api/types";

/** What is asked for; empty texts ask for nothing. */
export interface CommitFilters {
  /** An object, or a folder if it ends in a slash. */
  path: string;
  author: string;
  /** Days, as in `2026-05-31`; `until` is included. */
  since: string;
  until: string;
}

const PAGE = 100;
const SEEK_PAGE = 500;
const MAX_SEEK_PAGES = 20;

/** Whether some commits may be left out, so that those shown are no whole history. */
export function isFiltered({ path, author, since, until }: CommitFilters): boolean {
  return Boolean(path || author || since || until);
}

/** Returns a page of the commits that pass. A page may be empty though more follows. */
export async function loadCommits(
  repository: string,
  ref: string,
  filters: CommitFilters,
  after: string,
  signal: AbortSignal,
): Promise<Page<Commit>> {
  const { path, author, until } = filters;
  const seeks = Boolean(author || until);
  const found: Commit[] = [];
  let offset = after;
  for (let count = 0; ; count += 1) {
    const page = await api.get("/repositories/{repository}/refs/{ref}/commits", {
      path: { repository, ref },
      query: {
        after: offset,
        amount: seeks ? SEEK_PAGE : PAGE,
        ...(path && (path.endsWith("/") ? { prefixes: [path] } : { objects: [path] })),
        ...(filters.since && { since: startOfDay(filters.since).toISOString() }),
      },
      signal,
    });
    found.push(...page.results.filter((commit) => passes(commit, filters)));
    offset = page.pagination.next_offset;
    const isEnough = !seeks || found.length >= PAGE || count >= MAX_SEEK_PAGES;
    if (isEnough || !page.pagination.has_more) return { ...page, results: found };
  }
}

function passes(commit: Commit, { author, until }: CommitFilters): boolean {
  if (author && !commit.committer.toLowerCase().includes(author.toLowerCase())) return false;
  if (!until) return true;
  const end = startOfDay(until);
  end.setDate(end.getDate() + 1);
  return commit.creation_date * 1000 < end.getTime();
}

/** Returns when a day begins for the reader. */
function startOfDay(day: string): Date {
  return new Date(`${day}T00:00:00`);
}
