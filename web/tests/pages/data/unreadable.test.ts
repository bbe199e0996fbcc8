import { expect, test } from "vitest";
import { unreadableTitle } from "$/pages/data/unreadable";

test.each([
  [undefined, true, ""],
  [{ allowed: true, all: true }, true, ""],
  [{ allowed: true, all: false }, true, "There are no objects here that you may read"],
  [{ allowed: false, all: false }, true, "You may not read any objects here"],
  // the image at this commit may have been read
  [{ allowed: false, all: false }, false, "There are no objects here that you may read"],
])("an empty listing with the permission %j, on a branch: %j", (reading, isBranch, title) => {
  expect(unreadableTitle(reading, isBranch)).toBe(title);
});
