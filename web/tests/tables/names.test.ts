import fc from "fast-check";
import { expect, test } from "vitest";
import { identifierOf, isView, registerCommand, shortName, tableName } from "$/tables/names";

/** Returns the path of a record as the server makes it. */
function record(parts: readonly string[]): string {
  return `_tables/${parts.map(encodeURIComponent).join("/")}/table.json`;
}

test("the path of a record tells the name of its table, whatever is in it", () => {
  const part = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(
    fc.property(fc.array(part, { minLength: 2, maxLength: 4 }), (parts) => {
      expect(identifierOf(record(parts))).toEqual(parts);
      expect(tableName(record(parts))).toBe(parts.join("."));
      expect(shortName(record(parts))).toBe(parts.at(-1));
    }),
  );
});

test("other paths are those of folders", () => {
  for (const path of ["data/trips/", "_tables/alone/table.json", "_tables/a/b/namespace.json", "x/_tables/a/b/table.json"]) {
    expect(identifierOf(path)).toBeUndefined();
  }
  expect(identifierOf("_tables/a/%ff/table.json")).toBeUndefined();
  expect([tableName("data/<b>/"), shortName("data/<b>/"), shortName("top/")]).toEqual(["data/<b>", "<b>", "top"]);
});

test("records of views are told from those of tables", () => {
  expect([isView("_tables/a/b/view.json"), isView("_tables/a/b/table.json"), isView("a/view.json")]).toEqual([true, false, false]);
  expect(tableName("_tables/a%2Eb/c/view.json")).toBe("a.b.c");
});

test("the command that registers a folder is one of a shell", () => {
  expect(registerCommand("lake", "main", "raw/flights/")).toBe(
    "anabranch table register --create-namespace lakefs://lake/main/raw.flights s3://lake/main/raw/flights/",
  );
  expect(registerCommand("lake", "main", "a.b's/")).toBe(
    `anabranch table register --create-namespace 'lakefs://lake/main/tables.a%2Eb'"'"'s' 's3://lake/main/a.b'"'"'s/'`,
  );
});
