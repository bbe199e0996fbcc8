// The tabs of a repository, in order of use. A tab is shown once one of the routes belongs to it.

import { links } from "$/router/links";
import { ROUTES } from "$/routes";

/** A tab; `g` and its key go there. */
export interface Tab {
  id: string;
  label: string;
  key: string;
  /** The tab's address; the tabs of a reference keep the one that is shown. */
  href: (repository: string, ref?: string) => string;
}

const TABS: readonly Tab[] = [
  { id: "objects", label: "Data", key: "d", href: (r, ref = "") => links.objects(r, ref) },
  { id: "tables", label: "Tables", key: "l", href: (r, ref = "") => links.tables(r, ref) },
  { id: "changes", label: "Changes", key: "u", href: (r, ref = "") => links.changes(r, ref) },
  { id: "commits", label: "History", key: "h", href: (r, ref = "") => links.commits(r, ref) },
  { id: "branches", label: "Branches", key: "b", href: (r) => links.branches(r) },
  { id: "tags", label: "Tags", key: "t", href: (r) => links.tags(r) },
  { id: "compare", label: "Compare", key: "c", href: (r, ref = "") => links.compare(r, ref) },
  { id: "query", label: "Query", key: "q", href: (r, ref = "") => links.query(r, ref) },
  { id: "pulls", label: "Pull requests", key: "p", href: (r) => links.pulls(r) },
  { id: "actions", label: "Actions", key: "a", href: (r) => links.actions(r) },
  { id: "activity", label: "Activity", key: "y", href: (r) => links.activity(r) },
  { id: "storage", label: "Storage", key: "s", href: (r) => links.storage(r) },
  { id: "settings", label: "Settings", key: "e", href: (r) => links.settings(r) },
];

/** Returns the tabs that have pages. */
export function shownTabs(): Tab[] {
  const withPages = new Set(ROUTES.map((route) => route.tab));
  return TABS.filter((tab) => withPages.has(tab.id));
}
