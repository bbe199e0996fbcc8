import fc from "fast-check";
import { expect, test } from "vitest";
import { pythonString } from "$/snippets/quoting";
import { TOOLS, toolsFor } from "$/snippets/snippets";
import { fileName } from "$/snippets/source";

const source = { server: "http://127.0.0.1:8000", repository: "sea", ref: "main", path: "data/depth.parquet" };

function write(id: string, path: string, more = {}): string {
  return TOOLS.find((tool) => tool.id === id)!.write({ ...source, path, ...more });
}

function toolIds(path: string): string[] {
  return toolsFor({ ...source, path }).map((tool) => tool.id);
}

test("every program reads tables and folders", () => {
  const all = TOOLS.map((tool) => tool.id);
  for (const path of ["a.parquet", "a/b.CSV", "a.csv.gz", "a.jsonl", "a.ndjson", "", "folder/"]) {
    expect(toolIds(path)).toEqual(all);
  }
});

test("programs for tables are not offered for other formats", () => {
  for (const path of ["photo.png", "parquet", "a.parquet.txt", "README"]) {
    expect(toolIds(path)).toEqual(["anabranch", "boto3", "curl"]);
  }
});

test("a snippet has the server, the place and names of variables, and nothing that looks like a key", () => {
  for (const tool of TOOLS) {
    const snippet = tool.write({ ...source, server: "https://lake.example.com" });
    expect(snippet).toContain("lake.example.com");
    expect(snippet).toContain("main");
    expect(snippet).toContain("data/depth.parquet".replace("/", tool.id === "curl" ? "%2F" : "/"));
    expect(snippet).toContain("ANABRANCH_ACCESS_KEY_ID");
    expect(snippet).toContain("ANABRANCH_SECRET_ACCESS_KEY");
  }
});

test("TLS is used if the server has it", () => {
  const https = { server: "https://lake.example.com" };
  expect(write("pandas", "a.parquet", https)).toContain('scheme="https"');
  expect(write("polars", "a.parquet", https)).not.toContain("allow_http");
  expect(write("duckdb", "a.parquet", https)).toContain("USE_SSL true");
  expect(write("duckdb", "a.parquet")).toContain("USE_SSL false");
});

test("a path that a client would read as a pattern is no pattern", () => {
  expect(write("polars", "a[1]*.parquet")).toContain("glob=False");
  expect(write("duckdb", "a[1]*.parquet")).toContain("s3_url_compatibility_mode");
  expect(write("spark", "a[1]*.parquet")).toContain(pythonString("s3a://sea/main/a\\[1\\]\\*.parquet"));
  expect(toolIds("a[1]/")).toEqual(["pandas", "spark", "anabranch", "boto3", "curl"]);
});

test("paths that clients change are read as bytes, or not offered", () => {
  for (const path of ["a//b.parquet", "a/../b.parquet", "./a.parquet", "a\nb.parquet"]) {
    expect(write("pandas", path)).toContain("get_object");
    expect(write("polars", path)).toContain("get_object");
    expect(write("spark", path)).toBe("");
  }
  expect(write("spark", "a:b.parquet")).toBe("");
  expect(toolIds("../a/")).toEqual(["anabranch", "boto3", "curl"]);
});

test("a file to download into is in the current folder and no option", () => {
  for (const [path, name] of [
    ["a/b.txt", "./b.txt"],
    ["-rf", "./-rf"],
    ["a/..", "./sea"],
    ["", "./sea"],
    ["a/b/", "./b"],
  ]) {
    expect(fileName({ ...source, path: path! })).toBe(name);
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (path) => {
      const name = fileName({ ...source, path });
      expect(name.startsWith("./") && name.split("/").length === 2 && !["./", "./.", "./.."].includes(name)).toBe(true);
    }),
  );
});
