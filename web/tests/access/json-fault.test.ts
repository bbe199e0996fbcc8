// Where a text stops being JSON, against what the engine's own parser accepts.

import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonFault } from "$/access/json-fault";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const pieces = fc
  .array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', '"\\u00e9\\n"', '"', "\\", "\n", " ", "\t", "0", "1", "-", "1.5e+3", ".", "true", "null", "x", "\u00a0"), { maxLength: 8 })
  .map((parts) => parts.join(""));

test("a text is JSON if the engine's parser reads it", () => {
  fc.assert(
    fc.property(fc.oneof(pieces, fc.json({ maxDepth: 4 })), (text) => {
      expect(jsonFault(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 2000 },
  );
});

test("JSON of which one character is replaced is JSON if the engine's parser reads it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom("x", ",", '"', "}", "\\", " "), (text, choice, character) => {
      const at = choice % text.length;
      const changed = text.slice(0, at) + character + text.slice(at + 1);
      expect(jsonFault(changed) === undefined).toBe(isJson(changed));
    }),
    { numRuns: 500 },
  );
});

test("what comes before the fault can be the beginning of JSON", () => {
  fc.assert(
    fc.property(pieces, (text) => {
      const fault = jsonFault(text);
      if (fault !== undefined) expect(jsonFault(text.slice(0, fault)) ?? fault).toBe(text.slice(0, fault).length);
    }),
  );
});
