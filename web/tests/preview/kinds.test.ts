import { expect, test } from "vitest";
import { kindOf, languageOf, TABLE_FORMATS, tableFormat } from "$/preview/kinds";

test.each([
  ["a/flights.PARQUET", "", "table"],
  ["flights.csv.gz", "application/gzip", "table"],
  ["flights.jsonl.zst", "", "table"],
  ["a.txt.gz", "", "unknown"],
  ["README.md", "", "markdown"],
  ["README", "", "text"],
  ["Dockerfile", "", "text"],
  ["a/Makefile", "", "text"],
  ["a.csv/b", "", "unknown"],
  ["a.py", "image/png", "text"],
  ["a.geojson", "", "map"],
  ["photo", "image/png", "image"],
  ["photo", "image/svg+xml", "vector"],
  ["data", "Text/CSV; charset=utf-8", "table"],
  ["data", "text/x-unknown", "text"],
  ["data", "application/octet-stream", "unknown"],
  ["", "", "unknown"],
])("%j with the type %j is shown as %s", (path, type, kind) => {
  expect(kindOf(path, type)).toBe(kind);
});

test.each([
  ["a.py", "python"],
  ["a.TSX", "typescript"],
  ["Dockerfile", "dockerfile"],
  ["a/Lakefile", "dockerfile"],
  ["a.html", "xml"],
  ["a.txt", ""],
  ["a", ""],
])("the language of %j is %j", (path, language) => {
  expect(languageOf(path)).toBe(language);
});

test.each(["constructor", "__proto__", "valueOf", "toString"])("a name that objects have, %s, is no extension and no type", (name) => {
  expect(kindOf(`a.${name}`, "")).toBe("unknown");
  expect(kindOf(name, name)).toBe("unknown");
  expect(languageOf(`a.${name}`)).toBe("");
});

test("a format of the address is one of the menu, or none", () => {
  expect(TABLE_FORMATS.map(([name]) => tableFormat(name))).toEqual(TABLE_FORMATS.map(([name]) => name));
  expect(["xls", "", null].map(tableFormat)).toEqual(["", "", ""]);
});
