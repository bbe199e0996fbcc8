"""First rows of tables, and statistics of their columns, compared with plain Python."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pipelines.queries.conftest import ADMIN, ROWS, files
from pyarrow import parquet as pq

from anabranch.errors import Invalid, NotFound
from anabranch.model.uri import LakeUri
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.tables.formats import format_of
from anabranch.tables.json_values import MAX_TEXT_CHARS


def uri(path):
    return LakeUri("sea", "main", path)


@pytest.fixture
def put(lake):
    def put(path, content):
        lake.objects.upload("sea", "main", path, [content])
        return uri(path)

    return put


def parquet_bytes(table):
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


@pytest.mark.parametrize("path", sorted(files()))
@pytest.mark.sample(1)
def test_the_first_rows_of_every_format(queries, path):
    preview = queries.preview(ADMIN, uri(path), max_rows=12)
    assert [column["name"] for column in preview["columns"]] == ["number", "name", "level"]
    assert [row[:2] for row in preview["rows"]] == [[i, f"gauge {i % 7}"] for i in range(12)]
    assert preview["rows"][0][2] is None
    assert preview["rows"][1][2] == 0.25
    assert preview["has_more"]


@pytest.mark.parametrize("path", sorted(files()))
@pytest.mark.sample(1)
def test_statistics_of_every_format(queries, path):
    statistics = queries.statistics(ADMIN, uri(path))
    assert (statistics["rows"], statistics["complete"]) == (ROWS, True)
    number, name, level = statistics["columns"]
    assert (number["nulls"], number["min"], number["max"]) == (0, 0, ROWS - 1)
    assert number["mean"] == sum(range(ROWS)) / ROWS
    assert (number["distinct"], name["distinct"]) == (ROWS, 7)
    assert number["histogram"] == {"low": 0, "high": ROWS - 1, "counts": [15] * 20}
    assert (name["nulls"], name["min"], name["max"]) == (0, "gauge 0", "gauge 6")
    values = {each["value"]: each["count"] for each in name["histogram"]["values"]}
    expected = [sum(1 for each in range(ROWS) if each % 7 == rest) for rest in range(7)]
    assert values == {f"gauge {rest}": count for rest, count in enumerate(expected)}
    assert level["nulls"] == ROWS // 10
    assert sum(level["histogram"]["counts"]) == ROWS - ROWS // 10


def test_values_that_json_lacks_are_text(queries, put):
    table = pa.table(
        {
            "huge": pa.array([2**60 + 1], pa.int64()),
            "price": pa.array([Decimal("12345678901234567890.10")]),
            "bytes": pa.array([b"\x00\xff"], pa.binary()),
            "when": pa.array([datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)]),
            "lost": pa.array([float("nan")]),
            "far": pa.array([float("-inf")]),
            "nested": pa.array([{"a": [1, None], "b": {"c": 2**60}}]),
            "long": pa.array(["x" * 10_000]),
            "nothing": pa.nulls(1),
        }
    )
    address = put("values.parquet", parquet_bytes(table))
    (row,) = queries.preview(ADMIN, address, max_rows=1)["rows"]
    assert row[:3] == [str(2**60 + 1), "12345678901234567890.10", "\\x00ff"]
    assert row[3].startswith("2024-05-06 07:08:09")
    assert row[4:7] == ["NaN", "-Infinity", {"a": [1, None], "b": {"c": str(2**60)}}]
    assert row[7] == "x" * MAX_TEXT_CHARS + "…"
    assert row[8] is None
    by_name = {each["name"]: each for each in queries.statistics(ADMIN, address)["columns"]}
    assert by_name["lost"]["histogram"] is None
    assert by_name["nested"]["histogram"] is None
    assert by_name["nothing"]["nulls"] == 1


def test_histograms_of_times_and_equal_values(queries, put):
    days = [datetime(2024, 1, 1 + number, tzinfo=UTC) for number in range(20)]
    table = pa.table({"day": days, "same": [4.5] * 20, "wide": [-1.7e308, 1.7e308] * 10})
    address = put("times.parquet", parquet_bytes(table))
    day, same, wide = queries.statistics(ADMIN, address)["columns"]
    assert sum(day["histogram"]["counts"]) == 20
    assert max(day["histogram"]["counts"]) <= 2
    assert same["histogram"]["counts"] == [20] + [0] * 19
    assert sum(wide["histogram"]["counts"]) == 20


@pytest.mark.parametrize("extension", ["csv", "tsv", "jsonl"])
def test_compressed_text_is_read(queries, put, extension):
    separator = "\t" if extension == "tsv" else ","
    text = f"a{separator}b\n1{separator}x\n"
    content = b'{"a": 1, "b": "x"}\n' if extension == "jsonl" else text.encode()
    address = put(f"small.{extension}.gz", gzip.compress(content))
    assert queries.preview(ADMIN, address, max_rows=5)["rows"] == [[1, "x"]]


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3,4,5\n6\n7,8\n",
        b'a,b\n1,"unclosed\n2,3\n',
        b"a;b\n\n\n1;2\n",
        b"\xff\xfe,x\n1,2\n",
    ],
)
def test_irregular_csv_still_shows_rows(queries, put, content):
    address = put("irregular.csv", content)
    assert queries.preview(ADMIN, address, max_rows=5)["columns"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "path", ["broken.parquet", "broken.orc", "broken.arrow", "broken.avro", "broken.jsonl.gz"]
)
def test_a_damaged_file_says_so(queries, put, path):
    address = put(path, b"PAR1 not really a table " * 10)
    for read in (
        lambda: queries.preview(ADMIN, address, max_rows=5),
        lambda: queries.statistics(ADMIN, address),
    ):
        with pytest.raises(Invalid) as caught:
            read()
        assert caught.value.kind == "query_failed"
        assert "Traceback" not in caught.value.message


def test_an_empty_table_has_columns_and_no_rows(queries, put):
    address = put("empty.parquet", parquet_bytes(pa.table({"a": pa.array([], pa.int64())})))
    preview = queries.preview(ADMIN, address, max_rows=5)
    assert (preview["rows"], preview["has_more"]) == ([], False)
    (column,) = queries.statistics(ADMIN, address)["columns"]
    assert (column["nulls"], column["min"], column["histogram"]) == (0, None, None)


def test_statistics_of_a_large_file_consider_its_first_rows(queries, put):
    rows = 250_000
    address = put("large.parquet", parquet_bytes(pa.table({"n": range(rows)})))
    statistics = queries.statistics(ADMIN, address)
    assert (statistics["rows"], statistics["complete"]) == (100_000, False)
    assert statistics["columns"][0]["max"] == 99_999


@pytest.mark.slow
def test_statistics_of_wide_rows_consider_fewer_in_little_memory(lake, put):
    text = [f"{number:07}" * 300 for number in range(60_000)]
    address = put("wide.parquet", parquet_bytes(pa.table({"text": text})))
    queries = Queries(lake, QueryLimits(seconds=60, memory_bytes=80 << 20))
    statistics = queries.statistics(ADMIN, address)
    assert (statistics["rows"], statistics["complete"]) == (5_000, False)


def test_other_files_are_no_tables(queries, put):
    with pytest.raises(Invalid) as caught:
        queries.preview(ADMIN, put("notes.txt", b"x"), max_rows=5)
    assert caught.value.kind == "no_table"
    with pytest.raises(NotFound):
        queries.preview(ADMIN, uri("none.parquet"), max_rows=5)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/B.PARQUET", "parquet"),
        ("x.csv.gz", "csv"),
        ("x.ndjson.zst", "jsonl"),
        ("x.parquet.gz", None),
        ("x.gz", None),
        ("parquet", None),
        (".parquet", None),
        ("folder.csv/readme", None),
        ("", None),
    ],
)
def test_formats_are_named_by_extensions(path, expected):
    found = format_of(path)
    assert (found and found.name) == expected


def test_all_columns_of_a_wide_table_have_statistics(queries, put):
    columns = 200  # of many more, those are missing for which there is no time
    head = ",".join(f"c{number}" for number in range(columns))
    rows = "\n".join(",".join([str(row / 2)] * columns) for row in range(3))
    address = put("wide.csv", f"{head}\n{rows}\n".encode())
    statistics = queries.statistics(ADMIN, address)
    assert (len(statistics["columns"]), statistics["missing_columns"]) == (columns, 0)
    assert {each["max"] for each in statistics["columns"]} == {1.0}
    assert len(queries.preview(ADMIN, address, max_rows=5)["columns"]) == columns


@pytest.mark.slow
def test_statistics_hold_a_cell_of_another_type_far_from_the_beginning(queries, put):
    rows = b"".join(b"%d,%s\n" % (number, b"x" * 250) for number in range(80_000))
    address = put("late.csv", b"id,note\n" + rows + b"n/a,last\n")
    statistics = queries.statistics(ADMIN, address)
    assert statistics["rows"] == 80_001
    assert statistics["columns"][0]["type"] == "VARCHAR"


HIVE = b"1\x01a,b\n2\x01\\N\n"


def test_a_format_by_name_reads_what_no_name_tells(queries, put):
    address = put("hive/000000_0", HIVE)
    with pytest.raises(Invalid, match="its name ends with none of") as caught:
        queries.preview(ADMIN, address, max_rows=5)
    assert caught.value.kind == "no_table"
    preview = queries.preview(ADMIN, address, max_rows=5, table_format="csv")
    assert (preview["format"], preview["rows"]) == ("csv", [[1, "a,b"], [2, "\\N"]])
    statistics = queries.statistics(ADMIN, address, table_format="csv")
    assert [each["nulls"] for each in statistics["columns"]] == [0, 0]
    log = put("data.log", b"a,b\n1,2\n")
    assert queries.preview(ADMIN, log, max_rows=5, table_format="csv")["rows"] == [[1, 2]]


def test_a_format_by_name_reads_tables_of_queries(query, put):
    put("hive/more/000000_0", HIVE)
    put("hive/more/000001_0", b"3\x01c\n")
    tables = {"t": "hive/more/*"}
    found = query("FROM t ORDER BY 1", tables=tables, formats={"t": "csv"})["rows"]
    assert found == [[1, "a,b"], [2, "\\N"], [3, "c"]]
    with pytest.raises(Invalid, match="'u' is none of the tables"):
        query("FROM t", tables=tables, formats={"u": "csv"})


def test_formats_that_are_unknown_or_do_not_fit_are_refused(queries, query, put):
    with pytest.raises(Invalid, match=r"must be one of parquet, csv, .*, not 'xls'") as caught:
        queries.preview(ADMIN, uri("gauges.csv"), max_rows=1, table_format="xls")
    assert caught.value.kind == "unknown_table_format"
    with pytest.raises(Invalid, match="must be one of"):
        query("FROM t", tables={"t": "gauges.csv"}, formats={"t": "xls"})
    with pytest.raises(Invalid, match=r"gauges\.parquet is Parquet, not CSV") as caught:
        queries.statistics(ADMIN, uri("gauges.parquet"), table_format="csv")
    assert caught.value.kind == "wrong_table_format"
    with pytest.raises(Invalid, match="cannot be read as Parquet"):
        queries.preview(ADMIN, put("odd/text", HIVE), max_rows=1, table_format="parquet")


def test_a_name_twice_is_said_by_previews_and_queries(queries, query, put):
    address = put("twice.jsonl", b'{"a": 1, "a": 2}\n{"a": 3}\n')
    text = "1 row has an object with a name twice, 'a': the last value is shown."
    preview = queries.preview(ADMIN, address, max_rows=5)
    assert (preview["rows"], preview["notes"]) == ([[2], [3]], ["Encoding: UTF-8.", text])
    result = query("FROM t", tables={"t": "twice.jsonl"})
    assert (result["rows"], result["notes"]) == ([[2], [3]], [text])
