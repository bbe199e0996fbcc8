"""`query` against a real server."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet as pq


@pytest.fixture
def repo(lake):
    lake.commit("main", "base", **{"a.csv": "day,delay\n1,5\n2,\n", "b.csv": "day,delay\n3,7\n"})
    return lake


def sql_of(lake, rest=""):
    return f"SELECT path, size FROM objects('{lake.name}', 'main') {rest}"


def test_a_table_for_terminals_and_programs(ana, repo):
    rows = [["a.csv", "17"], ["b.csv", "14"]]
    assert ana.ok("query", sql_of(repo)).rows == rows
    shown = ana.ok("query", sql_of(repo), terminal=True).lines
    assert shown[0].split() == ["path", "size"]
    assert [line.split() for line in shown[1:]] == rows
    document = ana.ok("query", sql_of(repo), "--json").json
    assert document["rows"] == [["a.csv", 17], ["b.csv", 14]]


def test_names_for_paths(ana, repo):
    words = ("--at", repo.at("main"), "--table", "t=*.csv")
    ran = ana.ok("query", "SELECT day, delay FROM t ORDER BY day", *words)
    assert ran.rows == [["1", "5"], ["2", "NULL"], ["3", "7"]]


def test_formats_of_tables_by_name(ana, repo):
    repo.commit("main", "hive", **{"hive/000000_0": "1\x01a\n2\x01b\n"})
    words = ("--at", repo.at("main"), "--table", "h=hive/*", "--table-format", "h=csv")
    assert ana.ok("query", "FROM h ORDER BY 1", *words).rows == [["1", "a"], ["2", "b"]]


def test_standard_input_has_the_sql(ana, repo):
    ran = ana.ok("query", "-", stdin=sql_of(repo, "WHERE size < 15").encode())
    assert ran.rows == [["b.csv", "14"]]


def test_addresses_name_the_reference(ana, repo):
    ran = ana.ok("query", f"SELECT count(*) FROM '{repo.at('main/a.csv')}'")
    assert ran.rows == [["2"]]


def test_a_limit_of_rows_is_said(ana, repo):
    ran = ana.ok("query", sql_of(repo), "--rows", "1")
    assert ran.rows == [["a.csv", "17"]]
    assert "There are more rows than 1" in ran.err


def test_formats_to_standard_output(ana, repo):
    assert ana.ok("query", sql_of(repo), "--format", "csv").out == "path,size\na.csv,17\nb.csv,14\n"
    lines = ana.ok("query", sql_of(repo), "--format", "jsonl").lines
    assert lines[0] == '{"path": "a.csv", "size": 17}'
    content = ana.ok("query", sql_of(repo), "--format", "arrow", "--output", "-").raw
    assert pa.ipc.open_stream(content).read_all().column("size").to_pylist() == [17, 14]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["x.parquet", "x.CSV", "x.jsonl", "x.arrow"])
def test_a_file_has_the_format_of_its_name(ana, repo, tmp_path, name):
    file = tmp_path / "results" / name
    file.parent.mkdir()
    file.write_bytes(b"old")
    ran = ana.ok("query", sql_of(repo), "--output", str(file), "--json").json
    content = file.read_bytes()
    assert ran == {"file": str(file), "format": ran["format"], "size_bytes": len(content)}
    assert list(file.parent.iterdir()) == [file]
    if name.endswith("parquet"):
        assert pq.read_table(io.BytesIO(content)).column("path").to_pylist() == ["a.csv", "b.csv"]


def test_a_failed_query_leaves_the_file(ana, repo, tmp_path):
    file = tmp_path / "results" / "x.csv"
    file.parent.mkdir()
    file.write_bytes(b"old")
    sql = f"SELECT error('late') FROM objects('{repo.name}', 'main')"
    ran = ana("query", sql, "-o", str(file))
    assert ran.code == 1
    assert "late" in ran.err
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["SELECT 1"], "the query names no reference"),
        (["SELECT 1", "--at", "lakefs://sea/main", "--table", "t"], "not NAME=PATH"),
        (["FROM objects('sea', 'main')", "--output", "x.txt"], "--output needs --format"),
        (["SELECT 1", "--table-format", "t=xls"], "not NAME=FORMAT"),
        (["FROM objects('sea', 'main')", "--format", "xlsx"], "xlsx"),
    ],
)
def test_wrong_calls_are_usage_errors(ana, words, message):
    ran = ana("query", *words)
    assert ran.code == 2
    assert message in ran.err


def test_wrong_arguments_of_functions_have_a_hint(ana, repo):
    ran = ana("query", f"FROM objects('{repo.name}', 'main', 'a', 'b')")
    assert ran.code == 1
    assert "wrong arguments of objects()" in ran.err
    assert "[, prefix := '']" in ran.err
