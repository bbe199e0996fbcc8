"""DuckDB and its extension httpfs, which reads pieces of Parquet files by ranges."""

from __future__ import annotations

import re

import duckdb
import pytest


def test_documented_examples_run(duck, page, past):
    written = page.block("DuckDB", "sql").partition(");\n")[2].replace("sea", past.id)
    copy, trenches, depth = written.strip().split("\n")
    duck.execute(copy)
    assert duck.sql(trenches).fetchall() == [("Mariana", 10935)]
    assert duck.sql(depth).fetchall() == [("Mariana", 10935)]


@pytest.mark.wiring
def test_a_table_in_partitions(duck, repo):
    there = f"s3://{repo.id}/main/t"
    duck.execute(f"""
        COPY (SELECT range AS n, range % 3 AS part, md5(range::VARCHAR) AS word FROM range(30000))
        TO '{there}' (FORMAT parquet, PARTITION_BY part)
    """)
    assert repo.paths() == [f"t/part={part}/data_0.parquet" for part in range(3)]
    table = f"read_parquet('{there}/*/*.parquet', hive_partitioning=true)"
    response = duck.sql(f"SELECT part, count(*), sum(n) FROM {table} GROUP BY part ORDER BY part")
    assert response.fetchall() == [
        (part, 10_000, sum(range(part, 30_000, 3))) for part in range(3)
    ]  # fmt: skip
    assert duck.sql(f"SELECT word FROM {table} WHERE n = 7").fetchall() == [
        ("8f14e45fceea167a5a36dedd4bea2543",)
    ]


def test_versions_side_by_side(duck, past):
    past.branch("dev")
    past.put("depth.csv", b"Tonga,10820\n", "dev")
    refs = ("v1", past.first, "main~1", "main", "dev")
    files = ", ".join(f"'s3://{past.id}/{ref}/depth.csv'" for ref in refs)
    response = duck.sql(f"SELECT column1 FROM read_csv([{files}], header=false)").fetchall()
    assert response == [(10935,), (10935,), (10935,), (10994,), (10820,)]


def test_the_past_is_not_written(duck, past):
    with pytest.raises(duckdb.Error, match="404"):
        duck.execute(f"COPY (SELECT 1) TO 's3://{past.id}/v1/one.parquet'")
    assert past.paths("v1") == ["depth.csv"]


def test_what_is_refused(duck, repo):
    repo.put("a.csv", b"1\n")
    with pytest.raises(duckdb.HTTPException, match="404"):
        duck.sql(f"SELECT * FROM 's3://{repo.id}/main/none.parquet'")
    with pytest.raises(duckdb.Error, match=r"404|No files found"):
        duck.sql("SELECT * FROM 's3://no-such-repository/main/*.parquet'")


@pytest.mark.parametrize("wrong", ["KEY_ID", "SECRET"])
def test_keys_that_are_wrong(duck, secret, repo, wrong):
    repo.put("a.csv", b"1\n")
    duck.execute("DROP SECRET lake")
    duck.execute(re.sub(rf" {wrong} '.*'", f" {wrong} 'wrong'", secret))
    with pytest.raises(duckdb.HTTPException, match="403"):
        duck.sql(f"SELECT * FROM 's3://{repo.id}/main/a.csv'")


@pytest.mark.slow  # a size
def test_a_large_table(duck, repo):
    there = f"s3://{repo.id}/main/large.parquet"
    duck.execute("CREATE TABLE t AS SELECT range AS n, random() AS x FROM range(2_000_000)")
    duck.execute("SET s3_uploader_max_filesize = '50GB'")  # so that parts are of 5 MB
    duck.execute(f"COPY t TO '{there}' (COMPRESSION uncompressed)")
    stored = repo.sdk.objects_api.stat_object(repo.id, "main", "large.parquet")
    assert stored.size_bytes > 12 << 20
    parts = int(stored.checksum.partition("-")[2])
    assert parts > 1
    wrong = f"SELECT count(*) FROM t FULL JOIN '{there}' u USING (n) WHERE t.x IS DISTINCT FROM u.x"
    assert duck.sql(wrong).fetchall() == [(0,)]
