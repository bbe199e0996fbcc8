import { expect, test, vi } from "vitest";
import { api, apiUrl, send, whenSignedOut } from "$/api/client";
import { ApiError } from "$/api/error";
import { json, respond } from "../network";

test("the URL of an operation has its names encoded, and no empty parameters", () => {
  expect(apiUrl("/a/{b}/{c}", { b: "x/y z", c: 1 }, { e: "", f: undefined, g: ["1", "2"], h: false, i: "&" })).toBe(
    "/api/v1/a/x%2Fy%20z/1?g=1&g=2&h=false&i=%26",
  );
});

test("a body is sent as JSON, and a response is read by its type", async () => {
  const requests = respond(({ method }) => (method === "POST" ? json({ id: "a" }, 201) : new Response(null, { status: 204 })));
  const body = { name: "a", storage_namespace: "local://x" };
  expect(await api.post("/repositories", { body })).toEqual({ id: "a" });
  await api.delete("/repositories/{repository}", { path: { repository: "a" } });
  expect(requests.map(({ method, headers }) => [method, headers.get("Content-Type")])).toEqual([
    ["POST", "application/json"],
    ["DELETE", null],
  ]);
  expect(requests[0]?.body).toEqual(body);
});

test("a lost connection is an error of its own, and an abort stays one", async () => {
  respond(() => Promise.reject(new TypeError("Failed to fetch")));
  await expect(api.get("/user")).rejects.toMatchObject({ kind: "unreachable" });
  await expect(api.get("/user", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
});

test("a response that breaks off is a lost connection", async () => {
  const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
  respond(() => new Response(broken));
  await expect(send("/x", {}, (response) => response.text())).rejects.toMatchObject({ kind: "unreachable" });
});

test("the end of the session is announced, and a missing permission is not", async () => {
  const ended = vi.fn();
  whenSignedOut(ended);
  respond(() => json({ message: "no" }, 401, { "X-Anabranch-Kind": "insufficient_permissions" }));
  await expect(api.get("/user")).rejects.toBeInstanceOf(ApiError);
  expect(ended).not.toHaveBeenCalled();
  respond(() => json({ message: "no" }, 401));
  await expect(api.get("/user")).rejects.toBeInstanceOf(ApiError);
  expect(ended).toHaveBeenCalledTimes(1);
});
