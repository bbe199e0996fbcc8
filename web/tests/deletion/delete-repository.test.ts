import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deleteRepository, purgeRepository } from "$/deletion/delete-repository";
import { json, respond } from "../network";

const STARTED = { id: "p1", storage_namespace: "s3://lake/sea" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("without its data, a repository is deleted by one request", async () => {
  const requests = respond(() => new Response(null, { status: 204 }));
  expect(await deleteRepository("sea")).toBe("Repository sea deleted");
  expect(requests.map(({ method, path }) => [method, path])).toEqual([["DELETE", "/api/v1/repositories/sea"]]);
});

test("a purge is looked at until it ends, and says what was removed", async () => {
  let removed = 0;
  const result = { objects: 2, bytes: 2048, kept: 1 };
  const requests = respond(({ method }) => {
    if (method === "POST") return json(STARTED, 202);
    removed += 1;
    return json({ id: "p1", completed: removed === 3, update_time: "", removed, ...(removed === 3 && { result }) });
  });
  const progress = vi.fn();
  const purging = purgeRepository("sea", progress);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await purging).toMatch(/^Repository sea deleted with 2 objects, 2.*; 1 file of others stayed$/);
  expect(progress.mock.calls).toEqual([[1], [2], [3]]);
  expect(requests[0]?.path).toBe("/api/v1/repositories/sea/purge");
  expect([requests[1]?.query.get("id"), requests[1]?.query.get("storage_namespace")]).toEqual(["p1", "s3://lake/sea"]);
});

test("a purge that failed is an error", async () => {
  const error = { message: "s3://lake/sea: an image uses 3 objects of it" };
  respond(({ method }) => (method === "POST" ? json(STARTED, 202) : json({ id: "p1", completed: true, update_time: "", removed: 0, error })));
  await expect(purgeRepository("sea", () => undefined)).rejects.toMatchObject(error);
});
