import { expect, test } from "vitest";
import { findRoute } from "$/router/match";
import { ROUTES } from "$/routes";
import { shownTabs } from "$/shell/tabs";

test("each tab leads to a page that belongs to it, and keeps the reference or leaves it out", () => {
  for (const { id, href } of shownTabs()) {
    const url = new URL(href("a b", "main"), "http://server.test");
    const found = findRoute(ROUTES, url.pathname);
    expect([found?.route.tab, found?.params.repository]).toEqual([id, "a b"]);
    expect([null, "main"]).toContain(url.searchParams.get("ref"));
  }
});

test("each tab of a route is shown, with a key of its own", () => {
  const tabs = shownTabs();
  const routed = new Set(ROUTES.flatMap(({ tab }) => tab ?? []));
  expect(new Set(tabs.map(({ id }) => id))).toEqual(routed);
  expect(new Set(tabs.map(({ key }) => key)).size).toBe(tabs.length);
});
