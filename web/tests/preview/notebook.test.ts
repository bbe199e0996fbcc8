import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "$/api/error";
import { type Output, parseNotebook } from "$/preview/notebook";

function outputsOf(...outputs: unknown[]): Output[] {
  return parseNotebook(JSON.stringify({ cells: [{ cell_type: "code", source: "", outputs }] })).cells[0]?.outputs ?? [];
}

test("cells of nbformat 4 are read", () => {
  const text = JSON.stringify({
    metadata: { language_info: { name: "Python" } },
    cells: [
      { cell_type: "markdown", source: ["# a\n", "b"] },
      { cell_type: "code", execution_count: 3, source: "x = 1", outputs: [] },
      { cell_type: "heading", source: "c" },
    ],
  });
  expect(parseNotebook(text)).toEqual({
    language: "python",
    cells: [
      { kind: "markdown", source: "# a\nb", count: " ", outputs: [] },
      { kind: "code", source: "x = 1", count: "3", outputs: [] },
      { kind: "raw", source: "c", count: " ", outputs: [] },
    ],
  });
});

test("cells of nbformat 3 are read from its sheets", () => {
  const cell = { cell_type: "code", prompt_number: 1, input: ["1", "+1"], outputs: [{ output_type: "pyout", text: ["2"], png: "AA==" }] };
  const { cells } = parseNotebook(JSON.stringify({ worksheets: [{ cells: [cell] }] }));
  expect(cells).toEqual([{ kind: "code", source: "1+1", count: "1", outputs: [{ kind: "image", source: "data:image/png;base64,AA==" }] }]);
});

test("the richest kind of an output is shown", () => {
  const data = { "text/plain": "p", "text/markdown": "m", "text/html": "h", "image/svg+xml": "<svg/>", "image/png": "QQ==\n" };
  const kinds = Object.keys(data).map((_, index, types) => {
    const left = Object.fromEntries(Object.entries(data).slice(0, types.length - index));
    return outputsOf({ output_type: "display_data", data: left })[0];
  });
  expect(kinds).toEqual([
    { kind: "image", source: "data:image/png;base64,QQ==" },
    { kind: "image", source: "data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E" },
    { kind: "html", text: "h" },
    { kind: "markdown", text: "m" },
    { kind: "text", text: "p" },
  ]);
});

test("codes of terminals are removed, and an image that is not Base64 is none", () => {
  expect(outputsOf({ output_type: "error", traceback: ["\u001b[0;31mError\u001b[0m", "line"] })).toEqual([{ kind: "error", text: "Error\nline" }]);
  expect(outputsOf({ output_type: "stream", text: ["\u001b[1ma", "b"] })).toEqual([{ kind: "text", text: "ab" }]);
  expect(outputsOf({ data: { "image/png": '"><script>' } })).toEqual([]);
});

test("half a character in a drawing is replaced", () => {
  expect(outputsOf({ data: { "image/svg+xml": "a\ud800b" } })).toEqual([{ kind: "image", source: "data:image/svg+xml;charset=utf-8,a%EF%BF%BDb" }]);
});

test("what is not JSON is an error that says so", () => {
  expect(() => parseNotebook("{")).toThrow(ApiError);
});

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom("code", "markdown", "error", "a\ud800", "QQ==", null, 1, true),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.constantFrom("cells", "worksheets", "metadata", "language_info", "name", "cell_type", "source", "outputs", "output_type", "data", "text", "traceback", "image/png", "image/svg+xml", "text/html"),
      tie("value"),
      { maxKeys: 6 },
    ),
  ),
})).value;

test("any JSON is read as a notebook of texts", () => {
  fc.assert(
    fc.property(values, (value) => {
      const { language, cells } = parseNotebook(JSON.stringify(value));
      expect(typeof language).toBe("string");
      for (const cell of cells) {
        expect([typeof cell.source, typeof cell.count]).toEqual(["string", "string"]);
        for (const output of cell.outputs) expect(typeof (output.kind === "image" ? output.source : output.text)).toBe("string");
      }
    }),
    { numRuns: 200 },
  );
});
