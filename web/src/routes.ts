// The table of pages. A page's code is loaded when it is first shown.

import type { Route } from "./router/match";
import { ADMINISTRATION_ROUTES } from "./routes/administration";
import { COLLABORATION_ROUTES } from "./routes/collaboration";
import { IMAGE_ROUTES } from "./routes/images";
import { TABLE_ROUTES } from "./routes/tables";
import { VERSION_ROUTES } from "./routes/versions";

export const ROUTES: readonly Route[] = [
  { pattern: "/auth/login", layout: "bare", load: () => import("./pages/sign-in/SignIn.svelte") },
  { pattern: "/auth/link", layout: "bare", load: () => import("./pages/sign-in/LinkSignIn.svelte") },
  { pattern: "/setup", layout: "bare", load: () => import("./pages/setup/Setup.svelte") },
  { pattern: "/repositories", load: () => import("./pages/repositories/Repositories.svelte") },
  {
    pattern: "/repositories/:repository/objects",
    layout: "repository",
    tab: "objects",
    load: () => import("./pages/data/Data.svelte"),
  },
  {
    pattern: "/repositories/:repository/object",
    layout: "repository",
    tab: "objects",
    load: () => import("./pages/object/Object.svelte"),
  },
  {
    pattern: "/repositories/:repository/changes",
    layout: "repository",
    tab: "changes",
    load: () => import("./pages/changes/Changes.svelte"),
  },
  {
    pattern: "/repositories/:repository/query",
    layout: "repository",
    tab: "query",
    load: () => import("./pages/query/Query.svelte"),
  },
  ...TABLE_ROUTES,
  ...VERSION_ROUTES,
  ...COLLABORATION_ROUTES,
  ...ADMINISTRATION_ROUTES,
  ...IMAGE_ROUTES,
];

/** Addresses that stand for another page. */
export const REDIRECTS: readonly { pattern: string; to: (params: Record<string, string>) => string }[] = [
  { pattern: "", to: () => "/repositories" },
  {
    pattern: "/repositories/:repository",
    to: ({ repository = "" }) => `/repositories/${encodeURIComponent(repository)}/objects`,
  },
];
