// Routes: patterns of paths such as `/repositories/:repository/objects`, each with the page to load.

import type { Component } from "svelte";

/** The values of a pattern's names. */
export type Params = Record<string, string>;

/** A page's module; its component receives the route's names as properties, which differ. */
export interface PageModule {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- pages have properties of their own
  default: Component<any>;
}

/** A pattern and the page to load; `tab` is the repository's tab that the page belongs to. */
export interface Route {
  pattern: string;
  load: () => Promise<PageModule>;
  /** Where the page stands: alone, below the top bar, or among a repository's tabs. */
  layout?: "bare" | "page" | "repository" | "administration";
  tab?: string;
}

/** Returns the values of a pattern's names in a path, or undefined if the path does not match. */
export function matchPattern(pattern: string, path: string): Params | undefined {
  const expected = pattern.split("/");
  const actual = path.replace(/\/+$/, "").split("/");
  if (expected.length !== Math.max(actual.length, 1)) return undefined;
  const params: Params = {};
  for (const [index, segment] of expected.entries()) {
    const value = actual[index] ?? "";
    if (!segment.startsWith(":")) {
      if (segment !== value) return undefined;
      continue;
    }
    try {
      params[segment.slice(1)] = decodeURIComponent(value);
    } catch {
      return undefined; // not an address that this application wrote
    }
    if (!value) return undefined;
  }
  return params;
}

/** Returns the first route of a path and its values. */
export function findRoute(
  routes: readonly Route[],
  path: string,
): { route: Route; params: Params } | undefined {
  for (const route of routes) {
    const params = matchPattern(route.pattern, path);
    if (params) return { route, params };
  }
  return undefined;
}
