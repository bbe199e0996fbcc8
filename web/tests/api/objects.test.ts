import { expect, test } from "vitest";
import { contentUrl, deleteBelow, presignedUrl } from "$/api/objects";
import { json, pageOf, respond } from "../network";

const objects = Array.from({ length: 2500 }, (_, index) => ({ path: `a/${index}` }));
const signal = new AbortController().signal;

test("the address of an object's content has its path as a parameter", () => {
  expect(contentUrl("sea", "dev/1", "a b/ü")).toBe("/api/v1/repositories/sea/refs/dev%2F1/objects?path=a+b%2F%C3%BC");
});

test("all objects below a prefix are deleted, a thousand at a time", async () => {
  const deleted: string[] = [];
  const requests = respond(({ method, query, body }) => {
    if (method === "GET") return pageOf(objects, query.get("after") ?? "", Number(query.get("amount")));
    deleted.push(...(body as { paths: string[] }).paths);
    return json({ errors: [] });
  });
  const progress: number[] = [];
  expect(await deleteBelow("sea", "main", "a/", signal, (count) => progress.push(count))).toBe(2500);
  expect(deleted).toEqual(objects.map(({ path }) => path));
  expect(progress).toEqual([1000, 2000, 2500]);
  expect(requests.every(({ method, query }) => method === "POST" || query.get("prefix") === "a/")).toBe(true);
});

test("an object that may not be deleted ends it with an error that names it", async () => {
  respond(({ method, query }) =>
    method === "GET"
      ? pageOf(objects, query.get("after") ?? "", 1000)
      : json({ errors: [{ path: "a/7", message: "protected branch", status_code: 403 }] }),
  );
  const progress: number[] = [];
  const deleting = deleteBelow("sea", "main", "a/", signal, (count) => progress.push(count));
  await expect(deleting).rejects.toMatchObject({ message: "a/7: protected branch", status: 403 });
  expect(progress).toEqual([]);
});

test("nothing below a prefix takes no request to delete", async () => {
  const requests = respond(({ query }) => pageOf([], query.get("after") ?? "", 1000));
  expect(await deleteBelow("sea", "main", "a/", signal, () => undefined)).toBe(0);
  expect(requests).toHaveLength(1);
});

test("a presigned URL is the physical address of the object", async () => {
  const requests = respond(() => json({ physical_address: "https://store.test/x?signature" }));
  expect(await presignedUrl("sea", "main", "a")).toBe("https://store.test/x?signature");
  expect(requests[0]?.query.get("presign")).toBe("true");
});
