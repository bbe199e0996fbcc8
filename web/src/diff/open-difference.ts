// The parameters of the address that choose the difference beside a tree: its path, and how it is shown.

import { DIFFERENCE, without } from "$/router/parameters";

/** What is removed from the address when a difference is closed. */
export const CLOSED: Record<string, undefined> = Object.fromEntries(DIFFERENCE.map((name) => [name, undefined]));

/** Returns the search of the address that shows the difference of a path. */
export function openSearch(search: URLSearchParams, path: string): string {
  const query = without(search, DIFFERENCE);
  query.set("open", path);
  return `?${query}`;
}

/** Whether reverting `reverted` (an object, a folder with its slash, or "" for everything) drops the
 * difference of a path. */
export function isReverted(path: string, reverted: string, isObject: boolean): boolean {
  return isObject ? path === reverted : path.startsWith(reverted);
}
