import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError, errorFromResponse, errorFromText, isAbort, notLoaded, toApiError, unreachable } from "$/api/error";

test("an error of the API has the message, kind, hint and details of its response", async () => {
  const body = { message: "conflicts found", conflicts: ["a"] };
  const headers = { "X-Anabranch-Kind": "conflict", "X-Anabranch-Hint": "choose a side" };
  const error = await errorFromResponse(new Response(JSON.stringify(body), { status: 409, headers }));
  expect(error).toMatchObject({ message: "conflicts found", status: 409, kind: "conflict", hint: "choose a side", details: body });
});

test.each(["", "<html>", "null", "1", '"x"', "[]", '{"message": 1}'])("the status has to do where the body is %j", (body) => {
  const error = errorFromText(502, () => null, body);
  expect(error).toMatchObject({ message: "The server responded 502.", status: 502, kind: "", hint: "" });
});

test("any body makes an error", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (body) => {
      expect(errorFromText(500, () => null, body)).toBeInstanceOf(ApiError);
    }),
  );
});

test.each([
  // status, kind: signed out, temporary, unanswered, may pass
  [401, "", true, false, false, false],
  [401, "insufficient_permissions", false, false, false, false],
  [403, "", false, false, false, false],
  [404, "", false, false, false, false],
  [408, "", false, true, false, true],
  [429, "", false, true, false, true],
  [500, "", false, false, false, true],
  [502, "", false, true, true, true],
  [503, "", false, true, false, true],
  [504, "", false, true, true, true],
])("what the status %d with the kind %j means", (status, kind, ...meaning) => {
  const error = new ApiError("x", { status, kind });
  expect([error.isSignedOut, error.isTemporary, error.isUnanswered, error.mayPass]).toEqual(meaning);
});

test("a request without a response, and a page without its code, may be tried again", () => {
  expect([unreachable().isUnanswered, unreachable().isTemporary, notLoaded().mayPass]).toEqual([true, true, true]);
});

test("any thrown value can be shown", () => {
  const error = new ApiError("x");
  expect(toApiError(error)).toBe(error);
  expect(toApiError(new TypeError("y"))).toMatchObject({ message: "y", kind: "page_error" });
  expect(toApiError("z")).toMatchObject({ message: "z" });
});

test("an abort is known by its name", () => {
  expect(isAbort(new DOMException("x", "AbortError"))).toBe(true);
  expect([new DOMException("x", "TimeoutError"), new Error("AbortError"), undefined].some(isAbort)).toBe(false);
});
