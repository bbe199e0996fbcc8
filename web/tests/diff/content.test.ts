import { expect, test } from "vitest";
import { findObject, looksLikeTable, MAX_TEXT_BYTES, mayBeText, readText } from "$/diff/content";
import { json, respond } from "../network";

test.each([404, 410])("a response of %d means that there is no object", async (status) => {
  respond(() => json({ message: "no such object" }, status));
  expect(await findObject("sea", "main", "a")).toBeUndefined();
});

test("other errors are thrown", async () => {
  respond(() => json({ message: "forbidden" }, 403));
  await expect(findObject("sea", "main", "a")).rejects.toMatchObject({ status: 403, message: "forbidden" });
});

test("an object that exists is returned", async () => {
  const requests = respond(() => json({ path: "a/b", size_bytes: 3 }));
  expect(await findObject("sea", "main", "a/b")).toMatchObject({ size_bytes: 3 });
  expect(requests[0]?.query.get("path")).toBe("a/b");
});

test.each([
  ["text", [0x61, 0xc3, 0xa9], "aé"],
  ["nothing", [], ""],
  ["Latin-1", [0xe9, 0x61], undefined],
  ["a zero byte", [0x61, 0], undefined],
])("the bytes of %s are read as %3$s", async (_, bytes, text) => {
  respond(() => new Response(new Uint8Array(bytes)));
  expect(await readText("sea", "main", "a")).toBe(text);
});

test("tables and binary formats are known by their names, in any case", () => {
  expect(["a.csv", "a/b.PARQUET", "a.jsonl", "a.csv.gz", "a.orc"].every(looksLikeTable)).toBe(true);
  expect(["csv", "a.parquet.gz", "a.csv/b", "a.txt"].some(looksLikeTable)).toBe(false);
  expect(mayBeText("a.txt", 1, undefined, MAX_TEXT_BYTES)).toBe(true);
  expect(mayBeText("a.txt", 1, MAX_TEXT_BYTES + 1)).toBe(false);
  expect(mayBeText("a.PNG", 1)).toBe(false);
});
