import { expect, test } from "vitest";
import { columnText, tableChanges, versionsOfSides } from "$/tables/changes";

function table(columns: Record<string, string>, properties: Record<string, string> = {}, partitioning: string[] = []) {
  const schema = Object.entries(columns).map(([name, text]) => ({
    name,
    type: text.replace(" not null", ""),
    required: text.endsWith(" not null"),
    is_partition: false,
    readable: true,
  }));
  return { schema, properties, partitioning, location: "s3://rides/.tables/1" };
}

test("a table that is the same has no changes", () => {
  const same = table({ id: "long not null", name: "string" }, { a: "1" }, ["day(start)"]);
  expect(tableChanges(same, structuredClone(same))).toEqual([]);
});

test("columns, partitioning, properties and the location are compared by name", () => {
  const left = table({ id: "int", gone: "string" }, { kept: "1", old: "x" });
  const right = { ...table({ new: "date", id: "long not null" }, { kept: "1", old: "y" }, ["id"]), location: "" };
  expect(tableChanges(left, right)).toEqual([
    { what: "column", name: "id", kind: "changed", left: "int", right: "long not null" },
    { what: "column", name: "gone", kind: "removed", left: "string", right: undefined },
    { what: "column", name: "new", kind: "added", left: undefined, right: "date" },
    { what: "partitioning", name: "", kind: "added", left: undefined, right: "id" },
    { what: "property", name: "old", kind: "changed", left: "x", right: "y" },
    { what: "location", name: "", kind: "removed", left: "s3://rides/.tables/1", right: undefined },
  ]);
});

test("names of objects are no properties that a table has", () => {
  expect(tableChanges(table({ constructor: "int" }), table({ toString: "int" })).map(({ name }) => name)).toEqual([
    "constructor",
    "toString",
  ]);
});

test("versions that both sides have are shared", () => {
  const [one, two, three] = ["1", "2", "3"].map((version) => ({ version }));
  const { left, right } = versionsOfSides([two!, one!], [three!, one!]);
  expect(left).toEqual([{ version: two, shared: false }, { version: one, shared: true }]);
  expect(right).toEqual([{ version: three, shared: false }, { version: one, shared: true }]);
});

test("a column says whether each row has a value", () => {
  expect(columnText({ type: "long", required: true })).toBe("long not null");
  expect(columnText({ type: "long", required: false })).toBe("long");
});
