// The pages of a repository's versions: what differs, history, branches and tags.

import type { Route } from "../router/match";

const repository = "/repositories/:repository";

export const VERSION_ROUTES: readonly Route[] = [
  {
    pattern: `${repository}/commits`,
    layout: "repository",
    tab: "commits",
    load: () => import("../pages/commits/Commits.svelte"),
  },
  {
    pattern: `${repository}/commits/:id`,
    layout: "repository",
    tab: "commits",
    load: () => import("../pages/commits/Commit.svelte"),
  },
  {
    pattern: `${repository}/compare`,
    layout: "repository",
    tab: "compare",
    load: () => import("../pages/compare/Compare.svelte"),
  },
];
