// The pages of the tables of a repository.

import type { Route } from "../router/match";

const repository = "/repositories/:repository";

export const TABLE_ROUTES: readonly Route[] = [
  {
    pattern: `${repository}/tables`,
    layout: "repository",
    tab: "tables",
    load: () => import("../pages/tables/Tables.svelte"),
  },
  {
    pattern: `${repository}/table`,
    layout: "repository",
    tab: "tables",
    load: () => import("../pages/tables/Table.svelte"),
  },
];
