"""SQL over objects: results, names of tables, permissions."""

from __future__ import annotations

import io

import duckdb
import pyarrow as pa
import pytest
from pipelines.queries.conftest import ROWS, files
from pyarrow import parquet as pq

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied, Invalid, NotFound, NotSupported
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries


def reader(*paths, lists=True):
    resources = tuple(f"arn:lakefs:fs:::repository/sea/object/{path}" for path in paths)
    statements = [Statement(Effect.ALLOW, ("fs:ReadObject",), resources)]
    if lists:
        repository = ("arn:lakefs:fs:::repository/sea",)
        statements.append(Statement(Effect.ALLOW, ("fs:ListObjects",), repository))
    return Actor(username="reader", statements=statements)


@pytest.mark.parametrize("path", sorted(files()))
@pytest.mark.sample(2)
def test_every_format_is_a_table(query, path):
    sql = "SELECT count(*), sum(number), sum(level), count(DISTINCT name) FROM gauges"
    result = query(sql, tables={"gauges": path})
    levels = [number / 4 for number in range(ROWS) if number % 10]
    assert result["rows"] == [[ROWS, str(sum(range(ROWS))), sum(levels), 7]] or result["rows"] == [
        [ROWS, sum(range(ROWS)), sum(levels), 7]
    ]


def test_objects_are_named_by_their_addresses(query):
    sql = "SELECT name, count(*) n FROM 'lakefs://sea/main/gauges.parquet' GROUP BY name ORDER BY 1"
    result = query(sql)
    assert [column["name"] for column in result["columns"]] == ["name", "n"]
    assert [column["type"] for column in result["columns"]] == ["VARCHAR", "BIGINT"]
    expected = [sum(1 for each in range(ROWS) if each % 7 == rest) for rest in range(7)]
    assert result["rows"] == [[f"gauge {rest}", count] for rest, count in enumerate(expected)]
    assert result["bytes_read"] > 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "source",
    ["'lakefs://sea/main/flights/*/*.csv'", "'lakefs://sea/main/flights/**/*.csv'", "flights"],
)
def test_patterns_read_all_objects_that_match(query, source):
    result = query(
        f"SELECT month, sum(delay) FROM {source} GROUP BY month ORDER BY month",
        tables={"flights": "flights/month=?/a.csv"},
    )
    assert [[int(month), int(delay)] for month, delay in result["rows"]] == [[5, 55], [6, 66]]


def test_two_versions_are_compared_by_sql(lake, query):
    lake.branches.create("sea", "raised", "main")
    lake.objects.upload("sea", "raised", "flights/month=5/a.csv", [b"day,delay\n1,5\n2,51\n"])
    sql = (
        "FROM 'lakefs://sea/raised/flights/month=5/a.csv' "
        "EXCEPT FROM 'lakefs://sea/main/flights/month=5/a.csv'"
    )
    assert [row[:2] for row in query(sql)["rows"]] == [[2, 51]]


@pytest.mark.slow
def test_references_may_be_expressions(lake, query):
    lake.repositories.create("land", "local://land")
    for number in (1, 2):
        lake.objects.upload("land", "main", "a.csv", [b"x\n%d\n" % number])
        lake.commits.commit("land", "main", message="one", committer="ada")
    lake.tags.create("land", "v:2", "main")
    lake.objects.upload("land", "main", "a.csv", [b"x\n3\n"])
    expected = {"main": 3, "main@": 2, "main~1": 1, "main^1": 1, "v:2": 2}
    expected[lake.commits.get("land", "main").id] = 2
    for name, number in expected.items():
        assert query(f"FROM 'lakefs://land/{name}/a.csv'")["rows"] == [[number]], name


def test_a_result_is_cut_off_after_the_rows_asked_for(query):
    result = query("FROM gauges ORDER BY number", tables={"gauges": "gauges.csv"}, max_rows=10)
    assert [row[0] for row in result["rows"]] == list(range(10))
    assert result["has_more"]
    result = query("FROM gauges LIMIT 10", tables={"gauges": "gauges.csv"}, max_rows=10)
    assert (len(result["rows"]), result["has_more"]) == (10, False)


def test_a_result_is_cut_off_after_its_bytes(lake):
    queries = Queries(lake, QueryLimits(result_bytes=100_000))
    result = queries.query(
        Actor.administrator("a"),
        "SELECT repeat('x', 2000) FROM range(1000)",
        repository="sea",
        reference="main",
        tables={},
        max_rows=1000,
    )
    assert 40 <= len(result["rows"]) <= 60
    assert result["has_more"]


def test_statements_may_prepare_the_last_one(query):
    sql = "CREATE VIEW fast AS SELECT 1 AS knots; CREATE TABLE t AS FROM fast; SELECT * FROM t"
    assert query(sql)["rows"] == [[1]]
    assert query("PIVOT (SELECT 'a' k, 2 v) ON k USING sum(v)")["rows"] == [[2]]
    assert "PROJECTION" in query("EXPLAIN SELECT 1")["rows"][0][1]


def test_an_object_whose_name_is_a_pattern_is_itself(lake, query):
    lake.objects.upload("sea", "main", "odd/[a]*?.csv", [b"x\n7\n"])
    lake.objects.upload("sea", "main", "odd/a1.csv", [b"x\n8\n"])
    assert query("FROM odd", tables={"odd": "odd/[a]*?.csv"})["rows"] == [[7]]
    assert query("FROM odd", tables={"odd": "odd/[a]?.csv"})["rows"] == [[8]]


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", ["it's; DROP TABLE x --.csv", 'quo"ted.csv', "ein fluß/ü ö.csv"])
def test_names_are_never_read_as_sql(lake, query, path):
    lake.objects.upload("sea", "main", path, [b"x\n7\n"])
    assert query("FROM odd", tables={"odd": path})["rows"] == [[7]]
    assert query('FROM "o""dd; --"', tables={'o"dd; --': path})["rows"] == [[7]]


def test_a_missing_object_is_not_found(query):
    with pytest.raises(NotFound):
        query("SELECT 1", tables={"t": "none.parquet"})
    with pytest.raises(NotFound):
        query("SELECT 1", tables={"t": "none/*.parquet"})
    with pytest.raises(Invalid, match="No files found"):
        query("FROM 'lakefs://sea/main/none.parquet'")
    with pytest.raises(NotFound) as caught:
        query("FROM 'lakefs://sea/nowhere/a.parquet'")
    assert caught.value.kind != "object_not_found"


def test_a_wrong_query_says_what_is_wrong(query):
    with pytest.raises(Invalid, match="syntax error at or near") as caught:
        query("SELEC 1")
    assert caught.value.kind == "query_failed"
    with pytest.raises(Invalid, match='column "depth" not found'):
        query("SELECT depth FROM gauges", tables={"gauges": "gauges.csv"})


def test_a_reader_reads_what_the_policies_allow_only(query):
    actor = reader("gauges.csv")
    assert query("SELECT count(*) FROM g", actor=actor, tables={"g": "gauges.csv"})["rows"] == [
        [ROWS]
    ]
    for sql in (
        "FROM 'lakefs://sea/main/secret/a.csv'",
        "FROM 'lakefs://sea/main/gauges.csv' UNION ALL BY NAME FROM 'lakefs://sea/main/secret/a.csv'",
        "FROM read_text('lakefs://sea/main/secret/a.csv')",
        "FROM read_blob('lakefs://sea/main/secret/a.csv')",
    ):
        with pytest.raises(Denied) as caught:
            query(sql, actor=actor)
        assert caught.value.kind == "insufficient_permissions"
    with pytest.raises(Denied):
        query("SELECT 1", actor=actor, tables={"s": "secret/a.csv"})


def test_patterns_find_readable_objects_only(query):
    actor = reader("flights/month=5/*")
    sql = "SELECT sum(delay) FROM flights"
    assert query(sql, actor=actor, tables={"flights": "flights/*/*.csv"})["rows"] in (
        [["55"]],
        [[55]],
    )
    found = query("SELECT file FROM glob('lakefs://sea/main/**')", actor=actor)["rows"]
    assert found == [["lakefs://sea/main/flights/month=5/a.csv"]]


def test_patterns_need_the_permission_to_list(query):
    actor = reader("*", lists=False)
    assert query("SELECT count(*) FROM g", actor=actor, tables={"g": "gauges.csv"})["rows"]
    with pytest.raises(Denied, match="insufficient"):
        query("SELECT 1", actor=actor, tables={"g": "*.csv"})


def test_queries_can_be_switched_off(lake):
    queries = Queries(lake, QueryLimits(processes=0))
    with pytest.raises(NotSupported) as caught:
        queries.query(
            Actor.administrator("a"),
            "SELECT 1",
            repository="sea",
            reference="main",
            tables={},
            max_rows=1,
        )
    assert caught.value.kind == "queries_unavailable"


def test_results_equal_those_of_duckdb_over_files(query, tmp_path):
    content = files()["gauges.parquet"]
    (tmp_path / "gauges.parquet").write_bytes(content)
    sql = (
        "SELECT name, min(number), max(level), avg(level), quantile_cont(level, 0.5), "
        "list(number ORDER BY number)[:3] FROM {} WHERE number BETWEEN 17 AND 250 "
        "GROUP BY name HAVING count(*) > 3 ORDER BY name"
    )
    with duckdb.connect() as connection:
        expected = connection.execute(sql.format(f"'{tmp_path}/gauges.parquet'")).fetchall()
    result = query(sql.format("'lakefs://sea/main/gauges.parquet'"))
    assert result["rows"] == [list(row) for row in expected]


@pytest.mark.parametrize(
    ("log", "title"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        ("metadata/v1.metadata.json", "Iceberg"),
    ],
)
def test_files_of_a_table_of_many_files_have_a_notice(lake, query, log, title):
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), stream)
    folder = f"folders/{title.split()[0]}"
    lake.objects.upload("sea", "main", f"{folder}/day=1/1.parquet", [stream.getvalue()])
    tables = {"t": f"{folder}/**/*.parquet"}
    assert query("SELECT a, day FROM t", tables=tables)["notes"] == []
    lake.objects.upload("sea", "main", f"{folder}/{log}", [b"{}"])
    result = query("SELECT a, day FROM t", tables=tables)
    assert result["rows"] == [[1, 1]]
    (note,) = result["notes"]
    assert note.startswith(f"{folder}/ is a {title} table")
    assert f"lakefs://sea/main/{folder}" in note
