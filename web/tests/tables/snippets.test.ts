import { expect, test } from "vitest";
import { tableTools } from "$/tables/snippets";

const source = { server: "https://lake.example.com", repository: "rides", ref: "night", path: "_tables/city/trips/table.json" };
const folder = { ...source, path: "data/flights/" };

function write(id: string, format: "iceberg" | "delta", from = source): string {
  return tableTools(from, format).find((tool) => tool.id === id)?.write(from) ?? "";
}

test("each format has its programs", () => {
  expect(tableTools(source, "iceberg").map(({ id }) => id)).toEqual(["pyiceberg", "duckdb", "polars", "spark", "trino"]);
  expect(tableTools(folder, "delta").map(({ id }) => id)).toEqual(["deltalake", "polars", "spark"]);
});

test("a snippet has the server, the place and names of variables, and nothing that looks like a key", () => {
  for (const [format, from] of [["iceberg", source], ["delta", folder]] as const) {
    for (const tool of tableTools(from, format)) {
      const snippet = tool.write(from);
      for (const part of ["https://lake.example.com", "rides", "night", "ANABRANCH_ACCESS_KEY_ID", "ANABRANCH_SECRET_ACCESS_KEY"]) {
        expect(snippet, tool.id).toContain(part);
      }
    }
  }
});

test("nested namespaces are read where programs know them", () => {
  const nested = { ...source, path: "_tables/city/raw/trips/table.json" };
  expect(tableTools(nested, "iceberg").map(({ id }) => id)).toEqual(["pyiceberg", "polars", "spark", "trino"]);
  expect(write("pyiceberg", "iceberg", nested)).toContain('load_table(("city", "raw", "trips"))');
  expect(write("trino", "iceberg", nested)).toContain("nested-namespace-enabled=true");
});

test("names are quoted in each language", () => {
  const hostile = { ...source, path: `_tables/${encodeURIComponent('a"b')}/${encodeURIComponent("c`d'e\n")}/table.json` };
  expect(write("pyiceberg", "iceberg", hostile)).toContain('("a\\"b", "c`d\'e\\n")');
  expect(write("duckdb", "iceberg", hostile)).toContain(String.raw`FROM lake.\"a\"\"b\".\"c${"`"}d'e\n\"`);
  expect(write("spark", "iceberg", hostile)).toContain('lake.`a\\"b`.`c``d\'e\\n`');
  expect(write("trino", "iceberg", hostile)).toBe(""); // a comment would end at the line feed
  expect(write("duckdb", "iceberg", { ...source, ref: "it's" })).toContain("'lakefs://rides/it''s'");
});

test("an Iceberg table in a folder is in no catalog", () => {
  expect(tableTools(folder, "iceberg")).toEqual([]);
});

test("programs are not offered for folders that they do not find", () => {
  const ids = (path: string) => tableTools({ ...folder, path }, "delta").map(({ id }) => id);
  expect(ids("n=1/x/")).toEqual(["deltalake", "polars", "spark"]);
  expect(ids("a b/")).toEqual(["deltalake", "spark"]);
  expect(ids("50%/")).toEqual(["spark"]);
  expect(ids("a:b/")).toEqual(["deltalake", "polars"]);
});

test("addresses of Delta tables are URLs, and plain HTTP is allowed where the server has it", () => {
  expect(write("deltalake", "delta", { ...folder, path: "a b/?#=1/" })).toContain('"s3://rides/night/a%20b/%3F%23=1"');
  expect(write("deltalake", "delta", folder)).not.toContain("allow_http");
  expect(write("polars", "delta", { ...folder, server: "http://127.0.0.1:8000" })).toContain("allow_http");
});
