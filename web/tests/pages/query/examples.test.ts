import { expect, test } from "vitest";
import { loadExamples, metadataExamples, sqlReference } from "$/pages/query/examples";
import { json, respond } from "../../network";

const PATHS = ["delays/_delta_log/0.json", "plain/metadata/notes.txt", "ports/metadata/v1.metadata.json", "a.csv", "b.orc", "notes.txt", "it's.json"];

/** Answers listings of `PATHS`, and that the commit of any expression is `c0`. */
function lake() {
  return respond(({ path, query }) => {
    if (path.includes("/commits/")) return json({ id: "c0" });
    if (!path.endsWith("/objects/ls")) return json({ results: [], pagination: {} });
    const prefix = query.get("prefix") ?? "";
    const below = PATHS.filter((each) => each.startsWith(prefix));
    const folders = query.get("delimiter") ? [...new Set(below.filter((each) => each.includes("/")).map((each) => each.slice(0, each.indexOf("/") + 1)))] : [];
    const objects = query.get("delimiter") ? below.filter((each) => !each.includes("/")) : below;
    const results = [
      ...folders.map((each) => ({ path: each, path_type: "common_prefix" })),
      ...objects.map((each) => ({ path: each, path_type: "object", content_type: "application/octet-stream" })),
    ];
    return json({ results, pagination: { has_more: false, next_offset: "" } });
  });
}

test("examples are the tables and the files of tables at the top, and what is known of each reference", async () => {
  lake();
  const { reference, examples } = await loadExamples("sea", "main", new AbortController().signal);
  expect(reference).toBe("main");
  const own = examples.slice(0, -metadataExamples("sea", "main").length).map(({ sql }) => sql.split("\n")[1]);
  expect(own).toEqual([
    "FROM delta_table('lakefs://sea/main/delays/')",
    "FROM iceberg_table('lakefs://sea/main/ports/')",
    "FROM 'lakefs://sea/main/a.csv'",
    "FROM read_table('lakefs://sea/main/b.orc')",
    "FROM 'lakefs://sea/main/it''s.json'",
  ]);
  expect(new Set(examples.map(({ label }) => label)).size).toBe(examples.length);
});

test("a reference with blanks is its commit, because addresses have none", async () => {
  const sent = lake();
  expect(await sqlReference("sea", "main~1")).toBe("main~1");
  expect(sent).toEqual([]);
  const { reference, examples } = await loadExamples("sea", "main@{2 hours ago}", new AbortController().signal);
  expect(reference).toBe("c0");
  expect(examples[0]?.sql).toContain("'lakefs://sea/c0/delays/'");
});

test("names are literals in queries of metadata", () => {
  for (const { sql } of metadataExamples("sea", "it's")) expect(sql).toMatch(/\('sea', 'it''s(?:~1', 'it''s)?'\)/);
});
