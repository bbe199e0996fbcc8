import { expect, test } from "vitest";
import { type ActionForm, editable, fromDocument, newAction, newFile, newHook, newTable, repeated, toDocument, toYaml } from "$/pages/actions/files/action-form";

const FORM: ActionForm = {
  name: "whole data",
  description: "what main is: guarded by",
  events: [{ event: "pre-merge", branches: "main, release-*" }, { event: "pre-create-tag", branches: "" }],
  hooks: [
    {
      ...newHook(),
      id: "rules",
      tables: [{ ...newTable(), path: "a/*.csv", unchanged: true, notNull: "day, name", unique: "id", minRows: "1", ranges: [{ column: "n", min: "-1.5", max: "" }, { column: "day", min: "", max: "2026-01-01" }] }],
      files: [{ ...newFile(), within: "docs/", formats: "csv, parquet", maxSize: "64 MiB" }],
      metadata: "ticket",
    },
    { ...newHook(), id: "tell", type: "webhook", url: "https://x.example/?a=1#b", timeout: "30s", condition: "always()" },
  ],
};

test("a form and its document are the same", () => {
  expect(fromDocument(toDocument(FORM))).toEqual(FORM);
  expect(toDocument(FORM).hooks).toEqual([
    {
      id: "rules",
      type: "check",
      properties: {
        tables: [{ path: "a/*.csv", schema: "unchanged", not_null: ["day", "name"], unique: ["id"], ranges: { n: { min: -1.5 }, day: { max: "2026-01-01" } }, rows: { min: 1 } }],
        files: [{ within: ["docs/"], formats: ["csv", "parquet"], max_size: "64 MiB" }],
        commit_metadata: ["ticket"],
      },
    },
    { id: "tell", type: "webhook", if: "always()", properties: { url: "https://x.example/?a=1#b", timeout: "30s" } },
  ]);
});

test.each([
  ["an unknown field", (hook: Record<string, unknown>) => (hook.description = "x")],
  ["a type that the form does not know", (hook: Record<string, unknown>) => (hook.type = "lua")],
  ["headers of a webhook", (hook: Record<string, unknown>) => Object.assign(hook, { type: "webhook", properties: { url: "x", headers: { a: "b" } } })],
  ["patterns of metadata", (hook: Record<string, unknown>) => (hook.properties = { commit_metadata: { ticket: "FL-*" } })],
  ["a column with a comma", (hook: Record<string, unknown>) => (hook.properties = { tables: [{ path: "a", unique: ["a,b"] }] })],
  ["a text that looks like a number", (hook: Record<string, unknown>) => (hook.properties = { tables: [{ path: "a", ranges: { n: { min: "1" } } }] })],
  ["rules of another shape", (hook: Record<string, unknown>) => (hook.properties = { tables: "all" })],
])("a file with %s is not edited in the form", (_, change) => {
  const document = structuredClone(toDocument(FORM)) as { hooks: Record<string, unknown>[] };
  expect(fromDocument(document)).toBeDefined();
  change(document.hooks[0]!);
  expect(fromDocument(document)).toBeUndefined();
});

test("a file with a comment is not edited in the form, and neither is what is no document", () => {
  expect(editable("# mine\n", toDocument(newAction()))).toBeUndefined();
  expect(editable("name: a\n", toDocument(newAction()))).toBeDefined();
  const written = toYaml(toDocument(FORM));
  expect(written).toContain("#");
  expect(editable(written, toDocument(FORM))).toEqual(FORM);
  expect(editable(`${written}# more`, toDocument(FORM))).toBeUndefined();
  for (const document of [null, 1, "x", [], {}, { on: null, hooks: [] }, { on: {}, hooks: {} }]) expect(fromDocument(document)).toBeUndefined();
});

test("texts are in quotes where YAML would read something else", () => {
  const text = toYaml({ a: "x", b: "yes", c: "1", d: "a: b", e: "#", f: "", g: 'say "z"\n\u2028', h: null, on: {}, i: ["x", "y z"], j: 1.5, k: [{ l: ["m"] }, { n: { o: 1 } }] });
  expect(text.split("\n")).toEqual([
    "a: x", 'b: "yes"', 'c: "1"', 'd: "a: b"', 'e: "#"', 'f: ""', String.raw`g: "say \"z\"\n\u2028"`, "h: null", "on: {}", 'i: [x, "y z"]', "j: 1.5",
    "k:", "  - l: [m]", '  - "n":', "      o: 1", "",
  ]);
});

test("what is there twice is named, since a document would have it once", () => {
  expect(repeated(FORM)).toBe("");
  expect(repeated({ ...FORM, events: [...FORM.events, FORM.events[0]!] })).toBe("The event pre-merge is there twice.");
  const ranges = [{ column: "n", min: "1", max: "" }, { column: "n", min: "", max: "2" }];
  expect(repeated({ ...FORM, hooks: [{ ...newHook(), tables: [{ ...newTable(), ranges }] }] })).toBe("The column n has two ranges.");
});
