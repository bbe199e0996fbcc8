import { expect, test } from "vitest";
import { isReverted, openSearch } from "$/diff/open-difference";

test("another difference is shown in its own way, and what else is in the address stays", () => {
  const search = new URLSearchParams("ref=main&prefix=a&open=a%2Fb&view=text&key=id&match=rows");
  expect(new URLSearchParams(openSearch(search, "a/c d&e"))).toEqual(new URLSearchParams("ref=main&prefix=a&open=a%2Fc+d%26e"));
  expect(search.get("view")).toBe("text");
});

test.each([
  ["a/b", "", false, true],
  ["a/b", "a/", false, true],
  ["a/b", "a/b", true, true],
  ["a/b/", "a/b/", true, true],
  ["a/bc", "a/b", true, false],
  ["a/b", "b/", false, false],
  ["a/b/c", "a/b/", true, false],
])("the difference of %s after reverting “%s” (an object: %s) is dropped: %s", (path, reverted, isObject, dropped) => {
  expect(isReverted(path, reverted, isObject)).toBe(dropped);
});
