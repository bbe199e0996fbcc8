import { describe, expect, it, test } from "vitest";
import { atReference, fitsAddress, sqlFile, sqlTable, sqlText } from "$/preview/table/sql-names";

test("names are literals, whatever they contain", () => {
  expect(sqlText("a' OR ''='")).toBe("'a'' OR ''''='''");
  expect(sqlFile("sea", "main", "it's.csv")).toBe("'lakefs://sea/main/it''s.csv'");
  expect(sqlFile("sea", "main", "a.ORC")).toBe("read_table('lakefs://sea/main/a.ORC')");
  expect(sqlTable("delta", "sea", "v1", "a'b/")).toBe("delta_table('lakefs://sea/v1/a''b/')");
});

describe("another reference in SQL", () => {
  it.each([
    ["FROM 'lakefs://sea/main/a.csv'", "FROM 'lakefs://sea/dev/a.csv'"],
    ["FROM 'lakefs://sea/main'", "FROM 'lakefs://sea/dev'"],
    ["FROM 'lakefs://sea/main~2/main/a.csv'", "FROM 'lakefs://sea/dev~2/main/a.csv'"],
    ["FROM read_table(['lakefs://sea/main/a', 'lakefs://sea/main/b'])", "FROM read_table(['lakefs://sea/dev/a', 'lakefs://sea/dev/b'])"],
    ["FROM objects('sea', 'main', 'main/')", "FROM objects('sea', 'dev', 'main/')"],
    ["from OBJECT_METADATA ( 'sea' ,'main' )", "from OBJECT_METADATA ( 'sea' ,'dev' )"],
    ["FROM commits('sea', 'main@')", "FROM commits('sea', 'dev@')"],
    ["FROM changes('sea', 'main~1', 'main', 'main')", "FROM changes('sea', 'dev~1', 'dev', 'main')"],
    ["FROM changes('sea', 'v1', 'main$')", "FROM changes('sea', 'v1', 'dev$')"],
  ])("%s becomes %s", (sql, expected) => {
    expect(atReference(sql, "sea", "main", "dev")).toBe(expected);
  });

  it.each([
    "FROM 'lakefs://lake/main/a.csv'",
    "FROM 'lakefs://seal/main/a.csv'",
    "FROM 'lakefs://sea/main2/a.csv'",
    "FROM 'lakefs://sea/v1/main/a.csv' WHERE branch = 'main'",
    "FROM objects('lake', 'main')",
    "FROM my_objects('sea', 'main')",
    "FROM objects('sea', 'maintenance')",
    "",
  ])("%j names none, and stays", (sql) => {
    expect(atReference(sql, "sea", "main", "dev")).toBe(sql);
  });

  it("leaves SQL that compares both as it is", () => {
    const sql = "FROM 'lakefs://sea/dev/a.csv' EXCEPT FROM 'lakefs://sea/main/a.csv'";
    expect(atReference(sql, "sea", "main", "dev")).toBe(sql);
    expect(atReference(sql, "sea", "main", "v1")).toBe("FROM 'lakefs://sea/dev/a.csv' EXCEPT FROM 'lakefs://sea/v1/a.csv'");
  });

  it("takes names as they are, neither as patterns nor as replacements", () => {
    const at = (ref: string) => `FROM 'lakefs://sea/${ref}/a' UNION FROM commits('sea', '${ref}')`;
    expect(atReference(at("v1.0"), "sea", "v1.0", "$&$1")).toBe(at("$&$1"));
    expect(atReference(at("v1x0"), "sea", "v1.0", "dev")).toBe(at("v1x0"));
    expect(atReference(at("main@{3}"), "sea", "main@{3}", "it's")).toBe(at("it''s"));
  });

  it("is found again when one goes back", () => {
    const sql = "FROM changes('sea', 'main~1', 'main') JOIN 'lakefs://sea/main/a.csv' USING (path)";
    expect(atReference(atReference(sql, "sea", "main", "dev"), "sea", "dev", "main")).toBe(sql);
  });
});

test("SQL that makes an address too long does not fit, in bytes as they are sent", () => {
  expect([fitsAddress("a".repeat(8000)), fitsAddress("a".repeat(8001)), fitsAddress("海".repeat(1000))]).toEqual([true, false, false]);
});
