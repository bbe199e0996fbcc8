"""Results as files, read back by pyarrow, Python and DuckDB: every value is what the query has."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from pipelines.queries.conftest import ADMIN
from pyarrow import parquet as pq

from anabranch.access.actors.actor import Actor
from anabranch.errors import Denied, Invalid
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries

# expression, value in Arrow, in Parquet where it differs, text in CSV, value in JSON
VALUES = [
    ("true", True, None, "true", True),
    ("9007199254740993", 9007199254740993, None, "9007199254740993", "9007199254740993"),
    ("18446744073709551615::UBIGINT", 2**64 - 1, None, str(2**64 - 1), str(2**64 - 1)),
    ("sum(7)", Decimal(7), None, "7", 7),
    ("(10::HUGEINT ** 20)::HUGEINT", Decimal(10**20), None, str(10**20), str(10**20)),
    (
        "340282366920938463463374607431768211455::UHUGEINT",
        str(2**128 - 1),
        None,
        str(2**128 - 1),
        str(2**128 - 1),
    ),
    ("1.10::DECIMAL(38, 2)", Decimal("1.10"), None, "1.10", "1.10"),
    ("0.1::FLOAT", pytest.approx(0.1), None, "0.1", pytest.approx(0.1)),
    ("'-inf'::DOUBLE", float("-inf"), None, "-inf", "-Infinity"),
    (
        "12345678901234567890123456789::BIGNUM",
        "12345678901234567890123456789",
        None,
        "12345678901234567890123456789",
        "12345678901234567890123456789",
    ),
    (
        "'12:34:56.123456+02'::TIMETZ",
        "12:34:56.123456+02",
        None,
        "12:34:56.123456+02",
        "12:34:56.123456+02",
    ),
    ("'10101'::BIT", "10101", None, "10101", "10101"),
    ("'ab\\x00'::BLOB", b"ab\0", None, "ab\\x00", "\\x616200"),
    ("'it''s \"quoted\", a'", 'it\'s "quoted", a', None, 'it\'s "quoted", a', 'it\'s "quoted", a'),
    (
        "'line' || chr(10) || 'break' || chr(13)",
        "line\nbreak\r",
        None,
        "line\nbreak\r",
        "line\nbreak\r",
    ),
    ("' spaces '", " spaces ", None, " spaces ", " spaces "),
    ("repeat('x', 5000)", "x" * 5000, None, "x" * 5000, "x" * 5000),
    ("'東京 🌊'", "東京 🌊", None, "東京 🌊", "東京 🌊"),
    ("NULL::VARCHAR", None, None, "", None),
    ("''", "", None, "", ""),
    ("[1.50::DECIMAL(5, 2), NULL]", [Decimal("1.50"), None], None, "[1.50, NULL]", ["1.50", None]),
    ("[1::HUGEINT]", [Decimal(1)], None, "[1]", ["1"]),
    (
        "{'a': 1, 'b': '101'::BIT}",
        {"a": 1, "b": "101"},
        None,
        "{'a': 1, 'b': 101}",
        {"a": 1, "b": "101"},
    ),
    ("MAP {'k': 'v'}", [("k", "v")], None, "{k=v}", {"k": "v"}),
    (
        "INTERVAL '1 month 2 days 3 microseconds'",
        pa.MonthDayNano((1, 2, 3000)),
        "1 month 2 days 00:00:00.000003",
        "1 month 2 days 00:00:00.000003",
        "P1M2DT0.000003S",
    ),
    ("union_value(k := 1)", 1, "1", "1", "1"),
    ("'a'::ENUM ('a', 'b')", "a", None, "a", "a"),
    (
        "uuid '550e8400-e29b-41d4-a716-446655440000'",
        "550e8400-e29b-41d4-a716-446655440000",
        None,
        "550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-446655440000",
    ),
    ("'[1]'::JSON", "[1]", None, "[1]", "[1]"),
    ("DATE '9999-12-31'", None, None, "9999-12-31", "9999-12-31"),
]
NANOSECONDS = "'2020-01-01 00:00:00.123456789'::TIMESTAMP_NS"


def file_of(queries, sql, file_format, actor=ADMIN):
    download = queries.download(
        *(actor, sql), repository="sea", reference="main", tables={}, file_format=file_format
    )
    content = b"".join(download.pieces())
    assert len(content) == download.size
    return content


def arrow_table(content):
    return pa.ipc.open_stream(content).read_all()


def parquet_table(content):
    return pq.read_table(io.BytesIO(content))


@pytest.fixture(scope="session")
def one_row(queries):
    columns = ", ".join(f"{each[0]} AS c{number}" for number, each in enumerate(VALUES))
    return lambda file_format: file_of(queries, f"SELECT {columns}", file_format)


def test_arrow_and_parquet_have_the_values(one_row):
    for table, place in (
        (arrow_table(one_row("arrow")), 1),
        (parquet_table(one_row("parquet")), 2),
    ):
        for number, each in enumerate(VALUES):
            if each[0].startswith("DATE"):
                continue
            expected = each[1] if each[place] is None else each[place]
            assert table.column(f"c{number}").to_pylist() == [expected], each[0]


def test_csv_has_the_texts(one_row):
    header, row = csv.reader(io.StringIO(one_row("csv").decode(), newline=""))
    assert header == [f"c{number}" for number in range(len(VALUES))]
    assert row == [each[3] for each in VALUES]


def test_json_lines_have_the_values_of_results(one_row):
    (line,) = one_row("jsonl").decode().split("\n")[:-1]
    assert list(json.loads(line).values()) == [each[4] for each in VALUES]


def test_nanoseconds_and_far_times_are_kept(queries):
    sql = f"SELECT {NANOSECONDS} AS ns, TIMESTAMP '290000-01-01' AS far, DATE '9999-12-31' AS last"
    for table in (
        arrow_table(file_of(queries, sql, "arrow")),
        parquet_table(file_of(queries, sql, "parquet")),
    ):
        assert table.schema.field("ns").type == pa.timestamp("ns")
        assert table.column("ns").cast(pa.int64()).to_pylist() == [1577836800123456789]
        assert table.column("far").cast(pa.int64()).to_pylist() == [9089348860800000000]
        assert table.column("last").to_pylist()[0].isoformat() == "9999-12-31"
    assert b"00:00:00.123456789" in file_of(queries, sql, "csv")
    assert b"00:00:00.123456789" in file_of(queries, sql, "jsonl")


def test_null_differs_from_an_empty_text_in_csv(queries):
    content = file_of(queries, "SELECT NULL AS a, '' AS b UNION ALL SELECT 'x', NULL", "csv")
    assert content == b'a,b\n,""\nx,\n'
    single = file_of(queries, "SELECT * FROM (VALUES (NULL), ('x'), (NULL)) t(a)", "csv")
    assert single == b'a\n""\nx\n""\n'


@pytest.mark.slow
def test_duckdb_reads_the_files_back(queries, tmp_path):
    sql = "SELECT range AS n, range / 3 AS d, (range % 7)::VARCHAR || ',\"' AS t FROM range(60000)"
    with duckdb.connect() as connection:
        expected = connection.execute(
            f"SELECT count(*), sum(n), sum(d), max(t) FROM ({sql})"
        ).fetchall()
        for name, read in (
            ("csv", "read_csv"),
            ("jsonl", "read_json"),
            ("parquet", "read_parquet"),
        ):
            path = tmp_path / f"file.{name}"
            path.write_bytes(file_of(queries, sql, name))
            again = f"SELECT count(*), sum(n), sum(d), max(t) FROM {read}('{path}')"
            assert connection.execute(again).fetchall() == expected, name


@pytest.mark.sample(1)
@pytest.mark.parametrize("file_format", ["csv", "jsonl", "arrow", "parquet"])
def test_the_order_and_repeated_names_are_kept(queries, file_format):
    sql = "SELECT range % 5 AS a, range AS A, range AS a_1 FROM range(30000) ORDER BY 1, 2 DESC"
    content = file_of(queries, sql, file_format)
    if file_format == "csv":
        rows = [line.split(",") for line in content.decode().splitlines()]
        assert rows[0] == ["a", "A", "a_1"]
        numbers = [(int(row[0]), int(row[1])) for row in rows[1:]]
    elif file_format == "jsonl":
        objects = [json.loads(line) for line in content.decode().splitlines()]
        numbers = [tuple(each.values())[:2] for each in objects]
        assert len(objects[0]) == 3
    else:
        table = arrow_table(content) if file_format == "arrow" else parquet_table(content)
        assert table.schema.names == ["a", "A_2", "a_1"]
        numbers = list(
            zip(*(table.column(name).to_pylist() for name in table.schema.names[:2]), strict=True)
        )
    assert numbers == sorted(
        ((n % 5, n) for n in range(30000)), key=lambda each: (each[0], -each[1])
    )


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "arrow", "parquet"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a, 'x' AS b WHERE false",
        "FROM objects('sea', 'main') WHERE false",
        "EXPLAIN SELECT 1",
        "DESCRIBE SELECT 1",
        "CREATE VIEW v AS SELECT 1 AS x; FROM v",
        "SELECT count(*) FROM objects('sea', 'main')",
    ],
)
@pytest.mark.sample(2)
def test_every_result_is_a_file(queries, file_format, sql):
    content = file_of(queries, sql, file_format)
    assert content or (file_format == "jsonl" and "false" in sql)
    if "false" in sql and file_format in {"arrow", "parquet"}:
        table = arrow_table(content) if file_format == "arrow" else parquet_table(content)
        assert table.num_rows == 0
        assert table.schema.field(0).type in {pa.int32(), pa.string()}


def test_a_value_without_room_fails_the_query(queries):
    sql = "SELECT 170141183460469231731687303715884105727::HUGEINT AS h"
    for file_format in ("arrow", "parquet"):
        with pytest.raises(Invalid, match="Could not cast value"):
            file_of(queries, sql, file_format)
    assert file_of(queries, sql, "csv").decode().splitlines()[1] == str(2**127 - 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("file_format", ["csv", "jsonl", "arrow", "parquet"])
def test_a_file_that_is_too_large_is_refused(lake, file_format):
    queries = Queries(lake, QueryLimits(seconds=60, download_bytes=100_000))
    with pytest.raises(Invalid, match="more than 100,000 bytes") as caught:
        file_of(queries, "SELECT uuid() AS u FROM range(1000000)", file_format)
    assert caught.value.kind == "query_too_large"
    assert file_of(queries, "SELECT 1 AS a", "csv") == b"a\n1\n"


def test_a_file_has_nothing_that_the_user_may_not_read(queries):
    with pytest.raises(Denied):
        file_of(
            queries, "FROM objects('sea', 'main')", "csv", Actor(username="stranger", statements=[])
        )


INFINITE = "SELECT DATE 'infinity' AS d, [TIMESTAMPTZ '-infinity'] AS t"


@pytest.mark.slow
def test_infinite_times_are_text_in_text_and_refused_in_other_files(queries):
    content = file_of(queries, INFINITE, "csv")
    assert content.decode().splitlines()[1] == "infinity,[-infinity]"
    (line,) = file_of(queries, INFINITE, "jsonl").splitlines()
    assert json.loads(line) == {"d": "infinity", "t": ["-infinity"]}
    for name in ("arrow", "parquet"):
        for column in ("d", "t"):
            with pytest.raises(Invalid, match=f"column {column} has infinite dates or times"):
                file_of(queries, f"SELECT {column} FROM ({INFINITE})", name)
