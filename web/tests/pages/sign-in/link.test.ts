import fc from "fast-check";
import { expect, test } from "vitest";
import { readLink } from "$/pages/sign-in/link";

test("a link of any name, code and page is read as it was written", () => {
  const text = fc.string({ unit: "binary", minLength: 1 });
  fc.assert(
    fc.property(text, text, fc.string({ unit: "binary" }), (username, code, next) => {
      const written = new URLSearchParams({ user: username, code, next }).toString();
      expect(readLink(`#${written}`)).toEqual({ username, code, next });
    }),
  );
});

test("a fragment without a user or a code is no link", () => {
  for (const hash of ["", "#", "#code=x", "#user=x", "#user=&code=x", "#user=x&code=", "#/repositories"]) {
    expect(readLink(hash)).toBeUndefined();
  }
});
