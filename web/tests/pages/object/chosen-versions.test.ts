import { expect, test } from "vitest";
import { chosenVersions, comparedVersions, toggleVersion } from "$/pages/object/chosen-versions";

test("an address chooses two different versions at most", () => {
  expect(chosenVersions(null)).toEqual([]);
  expect(chosenVersions(",a,,a,b,c")).toEqual(["a", "b"]);
});

test("a click chooses a version or lets it go, and a third one takes the place of the first", () => {
  expect(toggleVersion([], "a")).toEqual(["a"]);
  expect(toggleVersion(["a", "b"], "a")).toEqual(["b"]);
  expect(toggleVersion(["a", "b"], "c")).toEqual(["b", "c"]);
});

test("the older version is compared with the newer one, whichever was chosen first", () => {
  const listed = ["new", "middle", "old"];
  const expected = { older: "old", newer: "new" };
  expect(comparedVersions(["new", "old"], listed)).toEqual(expected);
  expect(comparedVersions(["old", "new"], listed)).toEqual(expected);
  expect(comparedVersions(["unlisted", "old"], listed)).toEqual({ older: "unlisted", newer: "old" });
  expect(comparedVersions(["old", "unlisted"], listed)).toEqual({ older: "unlisted", newer: "old" });
  expect(comparedVersions(["old"], listed)).toBeUndefined();
  expect(comparedVersions([], listed)).toBeUndefined();
});
