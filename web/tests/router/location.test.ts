// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { isCommandLinePage, isOwnPath, location, navigate, setQuery, startRouting } from "$/router/location.svelte";

beforeEach(() => {
  navigate("/repositories");
});

test.each(["/", "/repositories", "/repositories/a/objects?ref=main#x", "/auth/login", "/apis", "/auth/client", "/a?next=//evil.test"])(
  "%s is a page of the application",
  (href) => {
    expect(isOwnPath(href)).toBe(true);
  },
);

test.each([
  "",
  "a",
  "?a",
  "http://evil.test/",
  "//evil.test/",
  "/\\evil.test/",
  "\\/evil.test/",
  "/\t/evil.test/",
  "/\n/evil.test/",
  "/\r\\evil.test/",
  "\t//evil.test/",
  "javascript:alert(1)",
])("%j is of another site, or none", (href) => {
  expect(isOwnPath(href)).toBe(false);
});

test.each(["/api", "/api/v1/user", "/auth/cli?port=1", "/oidc/login", "/logout", "/openapi.json", "/metrics", "/_health", "/assets/a.js", "/x/../api/v1", "/\tapi"])(
  "%j is the server's own",
  (href) => {
    expect(isOwnPath(href)).toBe(false);
  },
);

test("the page of the command line is an address of this server", () => {
  expect(["/auth/cli", "/auth/cli?port=1"].every(isCommandLinePage)).toBe(true);
  expect(["/auth/client", "//evil.test/auth/cli", "http://evil.test/auth/cli", "/auth/cli/../x"].some(isCommandLinePage)).toBe(false);
});

test("going to an address changes the state and the browser's history", () => {
  const before = window.history.length;
  navigate("/repositories/sea/objects?ref=main#top");
  expect([location.path, location.search, location.hash]).toEqual(["/repositories/sea/objects", "?ref=main", "#top"]);
  expect([location.href, location.query.get("ref")]).toEqual(["/repositories/sea/objects?ref=main#top", "main"]);
  expect(window.history.length).toBe(before + 1);
  navigate("/repositories/sea/objects?ref=dev", { replace: true });
  expect([window.location.search, window.history.length]).toEqual(["?ref=dev", before + 1]);
});

test("parameters are changed and removed, and the others stay", () => {
  navigate("/repositories/sea/objects?ref=main&path=a%2F#top");
  setQuery({ path: "", prefix: "é&=" });
  expect(Object.fromEntries(location.query)).toEqual({ ref: "main", prefix: "é&=" });
  expect(location.hash).toBe("#top");
  setQuery({ ref: undefined, prefix: undefined });
  expect(location.href).toBe("/repositories/sea/objects#top");
});

test("clicks on links to pages are followed, and others are left to the browser", () => {
  startRouting();
  const click = (attributes: Record<string, string>, init: MouseEventInit = {}) => {
    const anchor = document.createElement("a");
    for (const [name, value] of Object.entries(attributes)) anchor.setAttribute(name, value);
    const inner = anchor.appendChild(document.createElement("b"));
    document.body.append(anchor);
    // after the page's own listener: the browser's part would load a document
    window.addEventListener("click", (event) => event.preventDefault(), { once: true });
    inner.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init }));
    anchor.remove();
    return location.path;
  };
  expect(click({ href: "/auth/users" })).toBe("/auth/users");
  const left: [Record<string, string>, MouseEventInit?][] = [
    [{ href: "/images" }, { ctrlKey: true }],
    [{ href: "/images" }, { button: 1 }],
    [{ href: "/images", target: "_blank" }],
    [{ href: "/images", download: "" }],
    [{ href: "/api/v1/user" }],
    [{ href: "http://evil.test/" }],
    [{}],
  ];
  for (const [attributes, init] of left) expect(click(attributes, init)).toBe("/auth/users");
});

test("an entry of the history with the same rows begins with their places, one with other rows with none", () => {
  const changes = "/repositories/sea/changes?ref=main";
  const places = { places: { folders: { paths: { "deep/": false } } } };
  const stateAfter = (href: string) => {
    navigate("/repositories");
    navigate(changes);
    window.history.replaceState(places, "");
    navigate(href);
    return window.history.state as unknown;
  };
  for (const same of [`${changes}&open=flat%2Fc.txt`, `${changes}&merge=1&view=text`, "/repositories/sea/changes?open=a&ref=main"])
    expect(stateAfter(same)).toEqual(places);
  for (const other of [`${changes}&prefix=a`, "/repositories/sea/changes?ref=dev", "/repositories/sea/compare?ref=main"])
    expect(stateAfter(other)).toBeNull();
});
