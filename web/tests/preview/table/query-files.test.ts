import { describe, expect, it } from "vitest";
import { ApiError } from "$/api/error";
import { FILE_FORMATS, queryFile, resultName } from "$/preview/table/query-files";
import { json, respond } from "../../network";

const CSV = FILE_FORMATS[0]!;

describe("results as files", () => {
  it("are named after the object and the format", () => {
    const names = FILE_FORMATS.map((format) => resultName("may/a.csv", format));
    expect(names).toEqual(["a-query.csv", "a-query.jsonl", "a-query.arrows", "a-query.parquet"]);
    expect(resultName("a.tar.gz", CSV)).toBe("a.tar-query.csv");
    expect(resultName(".hidden", CSV)).toBe(".hidden-query.csv");
    expect(resultName("folder/", CSV)).toBe("query-query.csv");
  });

  it("are asked for in their format", async () => {
    const sent = respond(() => new Response("a\n1\n", { headers: { "Content-Type": "text/csv" } }));
    const query = { sql: "SELECT 1 AS a", tables: { object: "a.csv" } };
    const file = await queryFile("sea", "main", query, CSV, new AbortController().signal);
    expect(await file.text()).toBe("a\n1\n");
    expect(sent.map((each) => [each.method, each.path, each.body])).toEqual([
      ["POST", "/api/v1/repositories/sea/refs/main/query", { ...query, format: "csv" }],
    ]);
  });

  it("are errors if the query fails", async () => {
    respond(() => json({ message: "the query failed" }, 400));
    const failed = queryFile("sea", "main", { sql: "SELECTED" }, CSV, new AbortController().signal);
    await expect(failed).rejects.toThrow(ApiError);
  });
});
