import fc from "fast-check";
import { expect, test } from "vitest";
import { allBytes, dataUrl, decode, firstBytes, isText, MAX_WHOLE_BYTES } from "$/preview/content";
import { respond } from "../network";

const address = { repository: "sea", reference: "main", path: "a b" };
const signal = new AbortController().signal;

test("text that is cut off anywhere is text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (text, cut) => {
      const bytes = new TextEncoder().encode(text.replaceAll("\0", ""));
      expect(isText(bytes.subarray(0, cut % (bytes.length + 1)))).toBe(true);
      expect(decode(bytes)).toBe(new TextDecoder().decode(bytes));
    }),
  );
});

test("zero bytes, and bytes that begin no character, are no text", () => {
  expect(isText(new Uint8Array([0x61, 0]))).toBe(false);
  expect(isText(new Uint8Array([0x61, 0xff, 0x61]))).toBe(false);
  expect(decode(new Uint8Array([0x61, 0xff]))).toBe("a\ufffd");
});

test("a data: URL has the bytes, also of many", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(1, 1000), (part, repeat) => {
      const bytes = new Uint8Array(part.length * repeat);
      for (let index = 0; index < repeat; index += 1) bytes.set(part, index * part.length);
      const [type, encoded = ""] = dataUrl(bytes, "image/png").split(",");
      expect(type).toBe("data:image/png;base64");
      expect(atob(encoded)).toBe(String.fromCharCode(...part).repeat(repeat));
    }),
  );
});

test("only the first bytes are asked for, and none of an empty object", async () => {
  const requests = respond(() => new Response(new Uint8Array([1, 2]), { status: 206 }));
  expect(await firstBytes(address, 0, 100, signal)).toEqual(new Uint8Array());
  expect(await firstBytes(address, 1000, 100, signal)).toEqual(new Uint8Array([1, 2]));
  await firstBytes(address, 50, 100, signal);
  expect(requests.map(({ headers }) => headers.get("Range"))).toEqual(["bytes=0-99", "bytes=0-49"]);
  expect(requests[0]?.path).toBe("/api/v1/repositories/sea/refs/main/objects");
  expect(requests[0]?.query.get("path")).toBe("a b");
});

test("an object that is too large is not read", async () => {
  const requests = respond(() => new Response("x"));
  await expect(allBytes(address, MAX_WHOLE_BYTES + 1, signal)).rejects.toMatchObject({ kind: "too_large" });
  expect(requests).toEqual([]);
  expect(decode(await allBytes(address, MAX_WHOLE_BYTES, signal))).toBe("x");
});
