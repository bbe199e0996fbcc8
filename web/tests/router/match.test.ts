import fc from "fast-check";
import { expect, test } from "vitest";
import { links } from "$/router/links";
import { findRoute, matchPattern } from "$/router/match";
import { REDIRECTS, ROUTES } from "$/routes";

test.each([
  ["", "/", {}],
  ["/repositories", "/repositories", {}],
  ["/repositories", "/repositories/", {}],
  ["/repositories/:repository", "/repositories/a%2Fb%20c", { repository: "a/b c" }],
  ["/a/:b/c/:d", "/a/1/c/2", { b: "1", d: "2" }],
])("the pattern %j matches %s", (pattern, path, params) => {
  expect(matchPattern(pattern, path)).toEqual(params);
});

test.each([
  ["/repositories", "/repository"],
  ["/repositories/:repository", "/repositories"],
  ["/repositories/:repository", "/repositories//"],
  ["/repositories/:repository", "/repositories/a/b"],
  ["/repositories/:repository", "/repositories/%E9"],
  ["", "/a"],
])("the pattern %j does not match %s", (pattern, path) => {
  expect(matchPattern(pattern, path)).toBeUndefined();
});

// a browser takes these for the folder itself and the one above, however they are written
const name = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => ![".", ".."].includes(text));

test("the addresses of pages lead to their routes, with the names and parameters that they were made from", () => {
  fc.assert(
    fc.property(name, name, name, (repository, id, value) => {
      const cases: [href: string, pattern: string, params: object, query: object][] = [
        [links.objects(repository, id, value), "/repositories/:repository/objects", { repository }, { ref: id, path: value }],
        [links.object(repository, id, value, { tab: "history" }), "/repositories/:repository/object", { repository }, { ref: id, path: value, tab: "history" }],
        [links.changes(repository, id), "/repositories/:repository/changes", { repository }, { ref: id }],
        [links.commits(repository, id), "/repositories/:repository/commits", { repository }, { ref: id }],
        [links.commit(repository, id), "/repositories/:repository/commits/:id", { repository, id }, {}],
        [links.branches(repository), "/repositories/:repository/branches", { repository }, {}],
        [links.tags(repository), "/repositories/:repository/tags", { repository }, {}],
        [links.compare(repository, id, value), "/repositories/:repository/compare", { repository }, { ref: id, compare: value }],
        [links.pulls(repository), "/repositories/:repository/pulls", { repository }, {}],
        [links.newPull(repository, id, value), "/repositories/:repository/pulls/create", { repository }, { source: id, destination: value }],
        [links.actions(repository, { commit: id }), "/repositories/:repository/actions", { repository }, { commit: id }],
        [links.run(repository, id), "/repositories/:repository/actions/:id", { repository, id }, {}],
        [links.storage(repository), "/repositories/:repository/storage", { repository }, {}],
        [links.settings(repository), "/repositories/:repository/settings/:section", { repository, section: "general" }, {}],
        [links.user(id), "/auth/users/:user", { user: id }, {}],
        [links.user(id, "policies/effective"), "/auth/users/:user/:section/:kind", { user: id, section: "policies", kind: "effective" }, {}],
        [links.group(id), "/auth/groups/:group/:section", { group: id, section: "members" }, {}],
        [links.policy(id), "/auth/policies/:policy", { policy: id }, {}],
        [links.explain(id, value), "/auth/explain", {}, { user: id, action: value }],
        [links.image(id), "/images/tags/:tag", { tag: id }, {}],
        [links.newImage(id), "/images/build", {}, { from: id }],
        [links.signIn(value), "/auth/login", {}, value === "/" ? {} : { next: value }],
      ];
      for (const [href, pattern, params, query] of cases) {
        const url = new URL(href, "http://server.test");
        const found = findRoute(ROUTES, url.pathname);
        expect([found?.route.pattern, found?.params]).toEqual([pattern, params]);
        expect(Object.fromEntries(url.searchParams)).toEqual(query);
      }
    }),
  );
});

test.each([links.repositories(), links.setup(), links.users(), links.groups(), links.policies(), links.audit(), links.ownCredentials(), links.images()])(
  "%s has a page",
  (href) => {
    expect(findRoute(ROUTES, href)?.route.pattern).toBe(href);
  },
);

test("no route hides another one, and redirects lead to pages", () => {
  for (const { pattern } of ROUTES) expect(findRoute(ROUTES, pattern)?.route.pattern).toBe(pattern);
  for (const { pattern, to } of REDIRECTS) {
    expect(findRoute(ROUTES, pattern)).toBeUndefined();
    expect(findRoute(ROUTES, to({ repository: "a/b" }))).toBeDefined();
  }
});
