import { expect, test } from "vitest";
import { archiveUrl, contentUrl, deletePaths, moveInto, presignedUrl } from "$/api/objects";
import { json, pageOf, respond } from "../network";

const objects = Array.from({ length: 2500 }, (_, index) => ({ path: `a/${index}` }));
const signal = new AbortController().signal;

test("the address of an object's content has its path as a parameter", () => {
  expect(contentUrl("sea", "dev/1", "a b/ü")).toBe("/api/v1/repositories/sea/refs/dev%2F1/objects?path=a+b%2F%C3%BC");
});

test("the address of an archive has all paths, if it is not too long", () => {
  expect(archiveUrl("sea", "dev/1", ["a b", "c/", "ü"])).toBe(
    "/api/v1/repositories/sea/refs/dev%2F1/objects/archive?path=a+b&path=c%2F&path=%C3%BC",
  );
  const many = Array.from({ length: 500 }, (_, index) => `part-${index}.parquet`);
  expect(archiveUrl("sea", "main", many)).toBeUndefined();
});

test("all objects below a prefix are deleted, a thousand at a time", async () => {
  const deleted: string[] = [];
  const requests = respond(({ method, query, body }) => {
    if (method === "GET") return pageOf(objects, query.get("after") ?? "", Number(query.get("amount")));
    deleted.push(...(body as { paths: string[] }).paths);
    return json({ errors: [] });
  });
  const progress: number[] = [];
  expect(await deletePaths("sea", "main", ["a/"], signal, (count) => progress.push(count))).toBe(2500);
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
  const deleting = deletePaths("sea", "main", ["a/"], signal, (count) => progress.push(count));
  await expect(deleting).rejects.toMatchObject({ message: "a/7: protected branch", status: 403 });
  expect(progress).toEqual([]);
});

test("nothing below a prefix takes no request to delete", async () => {
  const requests = respond(({ query }) => pageOf([], query.get("after") ?? "", 1000));
  expect(await deletePaths("sea", "main", ["a/"], signal, () => undefined)).toBe(0);
  expect(requests).toHaveLength(1);
});

test("objects are deleted by their paths, and folders after them by what is below", async () => {
  const requests = respond(({ method, query }) =>
    method === "GET" ? pageOf([{ path: `${query.get("prefix")}x` }], query.get("after") ?? "", 1000) : json({ errors: [] }),
  );
  const progress: number[] = [];
  const paths = ["b/", ...Array.from({ length: 1001 }, (_, index) => `${index}`), "a/"];
  expect(await deletePaths("sea", "main", paths, signal, (count) => progress.push(count))).toBe(1003);
  const bodies = requests.filter(({ method }) => method === "POST").map(({ body }) => (body as { paths: string[] }).paths);
  expect(bodies.map((sent) => [sent[0], sent.length])).toEqual([["0", 1000], ["1000", 1], ["b/x", 1], ["a/x", 1]]);
  expect(progress).toEqual([1000, 1001, 1002, 1003]);
});

test("objects and folders move into a folder with their names, those that are there stay", async () => {
  const requests = respond(() => json({ count: 2 }));
  const progress: number[] = [];
  const options = { force: true, progress: (count: number) => progress.push(count) };
  expect(await moveInto("sea", "main", ["a/b.csv", "c/d/", "e/f", "g/"], "e/", options)).toBe(6);
  expect(requests.map(({ body }) => body)).toEqual([
    { source_path: "a/b.csv", destination_path: "e/b.csv", force: true },
    { source_path: "c/d/", destination_path: "e/d/", force: true },
    { source_path: "g/", destination_path: "e/g/", force: true },
  ]);
  expect(progress).toEqual([1, 2, 4]);
});

test("a move that is refused ends it, and what was moved before is counted", async () => {
  let left = 1;
  respond(() => (left-- > 0 ? json({ count: 1 }) : json({ message: "there is one already" }, 409)));
  const progress: number[] = [];
  const options = { force: false, progress: (count: number) => progress.push(count) };
  const moving = moveInto("sea", "main", ["a/b", "a/c", "a/d"], "", options);
  await expect(moving).rejects.toMatchObject({ status: 409 });
  expect(progress).toEqual([1]);
});

test("a presigned URL is the physical address of the object", async () => {
  const requests = respond(() => json({ physical_address: "https://store.test/x?signature" }));
  expect(await presignedUrl("sea", "main", "a")).toBe("https://store.test/x?signature");
  expect(requests[0]?.query.get("presign")).toBe("true");
});
