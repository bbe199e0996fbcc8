// The pages of a repository's versions: what differs, history, branches and tags.

import type { Route } from "../router/match";

const repository = "/repositories/:repository";

export const VERSION_ROUTES: readonly Route[] = [
  {
    pattern: `${repository}/compare`,
    layout: "repository",
    tab: "compare",
    load: () => import("../pages/compare/Compare.svelte"),
  },
];
