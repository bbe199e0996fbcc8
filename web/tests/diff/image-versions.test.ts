import { expect, test } from "vitest";
import type { ObjectStats } from "$/api/types";
import { areImages } from "$/diff/image-versions";

const stat = (content_type: string) => ({ content_type }) as ObjectStats;

test.each([
  ["a.png", [stat(""), undefined], true],
  ["a.svg", [undefined, stat("text/plain")], true],
  ["a", [stat("image/png"), stat("image/webp")], true],
  ["a", [stat("image/png"), stat("text/html")], false],
  ["a.html", [stat("image/png")], false],
  ["a.png", [undefined, undefined], false],
] as const)("versions of %s are images: case %#", (path, versions, expected) => {
  expect(areImages(path, ...versions)).toBe(expected);
});
