// The address of the page as state, and navigation. Links are plain anchors: a click on one to a page
// of the application changes the address without loading a document.

import { BESIDE_ROWS, without } from "./parameters";
import { entryChanged, keepPagePlace, leaveEntry, writePlaces } from "./places";

/** Paths that the server itself answers. */
const SERVER_PATHS = /^\/(?:api|auth\/cli|oidc|logout|openapi\.json|metrics|_health|_signed|scim|assets)(?:\/|$)/;

class Location {
  path = $state(window.location.pathname);
  search = $state(window.location.search);
  hash = $state(window.location.hash);
  query = $derived(new URLSearchParams(this.search));
  /** The address without its origin. */
  href = $derived(this.path + this.search + this.hash);
}

/** The current address. */
export const location = new Location();

function read(): void {
  location.path = window.location.pathname;
  location.search = window.location.search;
  location.hash = window.location.hash;
}

/** Goes to an address of the application. */
export function navigate(href: string, { replace = false } = {}): void {
  if (href === location.href) return;
  if (replace) writePlaces();
  else leaveEntry();
  const next = new URL(href, window.location.href);
  // other rows begin anew; the same ones stay as one left them, when one comes back to this entry too
  const isSame = replace
    ? next.searchParams.get("prefix") === location.query.get("prefix")
    : next.pathname === location.path && rowsOf(next.searchParams) === rowsOf(location.query);
  const state: unknown = isSame ? history.state : null;
  if (replace) history.replaceState(state, "", href);
  else history.pushState(state, "", href);
  read();
}

/** Returns the parameters that choose the rows of a page. */
function rowsOf(query: URLSearchParams): string {
  const rows = without(query, BESIDE_ROWS);
  rows.sort();
  return rows.toString();
}

/** Changes parameters of the address; an empty value removes one. By default the history of the
 * browser gets no entry, as while somebody types a search. */
export function setQuery(
  changes: Record<string, string | undefined>,
  { replace = true } = {},
): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const search = query.toString();
  navigate(location.path + (search ? `?${search}` : "") + location.hash, { replace });
}

/** Whether an address, such as the one to return to after signing in, is a page of the application:
 * never one of another site. */
export function isOwnPath(href: string): boolean {
  const base = window.location.href;
  if (!href.startsWith("/") || !URL.canParse(href, base)) return false;
  const { origin, pathname } = new URL(href, base); // as a browser reads it, which leaves out tabs, say
  return origin === window.location.origin && !SERVER_PATHS.test(pathname);
}

/** Whether an address is the server's page at which the command line asks to act as the user. It sends
 * who is not signed in to the page to sign in. */
export function isCommandLinePage(href: string): boolean {
  return /^\/auth\/cli(?:\?|$)/.test(href);
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = event.target instanceof Element ? event.target.closest("a") : null;
  if (!anchor || anchor.target || anchor.hasAttribute("download")) return;
  const href = anchor.getAttribute("href");
  if (!href || !isOwnPath(href)) return;
  event.preventDefault();
  navigate(href);
}

/** Follows links and the browser's history from now on. */
export function startRouting(): void {
  keepPagePlace();
  window.addEventListener("popstate", () => {
    entryChanged();
    read();
  });
  document.addEventListener("click", onClick);
}
