// The pages of the administration, and of one's own access keys. Addresses are lakeFS's, where it has them.

import type { Route } from "../router/match";

const user = () => import("../pages/administration/User.svelte");
const group = () => import("../pages/administration/Group.svelte");

export const ADMINISTRATION_ROUTES: readonly Route[] = [
  { pattern: "/auth/credentials", load: () => import("../pages/credentials/OwnCredentials.svelte") },
  { pattern: "/auth/users", load: () => import("../pages/administration/Users.svelte") },
  { pattern: "/auth/users/:user", load: user },
  { pattern: "/auth/users/:user/:section", load: user },
  { pattern: "/auth/users/:user/:section/:kind", load: user },
  { pattern: "/auth/groups", load: () => import("../pages/administration/Groups.svelte") },
  { pattern: "/auth/groups/:group", load: group },
  { pattern: "/auth/groups/:group/:section", load: group },
  { pattern: "/auth/policies", load: () => import("../pages/administration/Policies.svelte") },
  { pattern: "/auth/policies/:policy", load: () => import("../pages/administration/Policy.svelte") },
  { pattern: "/auth/explain", load: () => import("../pages/administration/Explain.svelte") },
  { pattern: "/auth/activity", load: () => import("../pages/administration/InstallationActivity.svelte") },
  { pattern: "/auth/audit", load: () => import("../pages/administration/Audit.svelte") },
];
