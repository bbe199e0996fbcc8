import fc from "fast-check";
import { expect, test } from "vitest";
import { baseName, folderOf, lakefsUri, s3Uri, shortId, typedFolder, typedPath } from "$/format/addresses";

test("addresses of other programs have the parts as they are", () => {
  expect(lakefsUri("sea", "main", "a b/é.csv")).toBe("lakefs://sea/main/a b/é.csv");
  expect(lakefsUri("sea", "main")).toBe("lakefs://sea/main/");
  expect(s3Uri("sea", "main", "a/b")).toBe("s3://sea/main/a/b");
  expect(shortId("0123456789abcdef")).toBe("0123456789ab");
});

const segment = fc.stringMatching(/^[a-z.é ]{1,5}$/);

test("a path is its folder and its last segment", () => {
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), fc.boolean(), (segments, isFolder) => {
      const path = segments.join("/") + (isFolder ? "/" : "");
      expect(folderOf(path) + baseName(path)).toBe(path);
      expect(baseName(path)).toBe(`${segments.at(-1) ?? ""}${isFolder ? "/" : ""}`);
    }),
  );
});

test("the top has no folder", () => {
  expect(folderOf("")).toBe("");
  expect(folderOf("a")).toBe("");
  expect(folderOf("a/")).toBe("");
  expect(baseName("")).toBe("");
});

test.each([
  ["", "", ""],
  [" /a/b ", "a/b", "a/b/"],
  ["//a/", "a/", "a/"],
  ["/", "", ""],
])("what is typed as %j is the path %j and the folder %j", (text, path, folder) => {
  expect(typedPath(text)).toBe(path);
  expect(typedFolder(text)).toBe(folder);
});
