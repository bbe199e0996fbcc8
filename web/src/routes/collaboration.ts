// The pages on which people work together: pull requests, and the runs of hooks.

import type { Route } from "../router/match";

const repository = "/repositories/:repository";

export const COLLABORATION_ROUTES: readonly Route[] = [
  {
    pattern: `${repository}/pulls`,
    layout: "repository",
    tab: "pulls",
    load: () => import("../pages/pulls/Pulls.svelte"),
  },
  {
    pattern: `${repository}/pulls/create`,
    layout: "repository",
    tab: "pulls",
    load: () => import("../pages/pulls/NewPull.svelte"),
  },
  {
    pattern: `${repository}/pulls/:id`,
    layout: "repository",
    tab: "pulls",
    load: () => import("../pages/pulls/Pull.svelte"),
  },
  {
    pattern: `${repository}/actions`,
    layout: "repository",
    tab: "actions",
    load: () => import("../pages/actions/Actions.svelte"),
  },
  {
    pattern: `${repository}/action-files`,
    layout: "repository",
    tab: "actions",
    load: () => import("../pages/actions/files/ActionFiles.svelte"),
  },
  {
    pattern: `${repository}/action-files/edit`,
    layout: "repository",
    tab: "actions",
    load: () => import("../pages/actions/files/ActionFile.svelte"),
  },
  {
    pattern: `${repository}/actions/:id`,
    layout: "repository",
    tab: "actions",
    load: () => import("../pages/actions/Run.svelte"),
  },
];
