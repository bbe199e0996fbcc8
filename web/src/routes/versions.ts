// The pages of a repository's versions: what differs, history, branches,
// tags, what they take, and settings.

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
  {
    pattern: `${repository}/branches`,
    layout: "repository",
    tab: "branches",
    load: () => import("../pages/branches/Branches.svelte"),
  },
  {
    pattern: `${repository}/tags`,
    layout: "repository",
    tab: "tags",
    load: () => import("../pages/tags/Tags.svelte"),
  },
  {
    pattern: `${repository}/activity`,
    layout: "repository",
    tab: "activity",
    load: () => import("../pages/activity/Activity.svelte"),
  },
  {
    pattern: `${repository}/storage`,
    layout: "repository",
    tab: "storage",
    load: () => import("../pages/storage/Storage.svelte"),
  },
  ...["/settings", "/settings/:section"].map(
    (path): Route => ({
      pattern: repository + path,
      layout: "repository",
      tab: "settings",
      load: () => import("../pages/settings/Settings.svelte"),
    }),
  ),
];
