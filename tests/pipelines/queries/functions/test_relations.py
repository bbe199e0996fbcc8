"""What DuckDB asks a relation for, and that a source that ignores it changes no result."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from anabranch.pipelines.queries.functions.conditions import Condition, conditions_in
from anabranch.pipelines.queries.functions.relations import Relation

SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("changed", pa.timestamp("us", "UTC")),
        ("sides", pa.struct([("size", pa.int64())])),
    ]
)
ROWS = [
    {
        "path": f"{'ab'[number % 2]}/{number:02d}",
        "size": None if number == 7 else number * 10,
        "changed": datetime(2026, 1, 1 + number, tzinfo=UTC),
        "sides": None if number == 3 else {"size": number},
    }
    for number in range(20)
]


@pytest.fixture
def scans():
    return []


@pytest.fixture
def query(scans):
    def read(columns, conditions):
        scans.append((list(columns), list(conditions)))
        yield from pa.Table.from_pylist(ROWS, SCHEMA).select(columns).to_batches(max_chunksize=6)

    with duckdb.connect() as connection:
        connection.register("things", Relation(SCHEMA, read))
        yield lambda sql: connection.execute(sql).fetchall()


def test_only_needed_columns_are_read(query, scans):
    assert query("SELECT max(size) FROM things") == [(190,)]
    assert scans == [(["size"], [])]


def test_a_count_reads_one_column(query, scans):
    assert query("SELECT count(*) FROM things") == [(20,)]
    assert scans == [(["path"], [])]


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ("path LIKE 'a/%'", [("path", ">=", "a/"), ("path", "<", "a0")]),
        ("path = 'b/01'", [("path", "=", "b/01")]),
        ("size > 50 AND size <= 100", [("size", ">", 50), ("size", "<=", 100)]),
        ("100 >= size", [("size", "<=", 100)]),
        ("size BETWEEN 20 AND 30", [("size", ">=", 20), ("size", "<=", 30)]),
        (
            "changed < TIMESTAMPTZ '2026-01-03 00:00:00Z'",
            [("changed", "<", 1767398400000000)],
        ),
        ("path = 'a/00' OR size = 30", []),
        ("path IN ('a/00', 'b/01')", []),
        ("size IS NULL", []),
        ("size <> 30", []),
        ("sides.size > 3", []),
        ("length(path) > 4", []),
    ],
)
@pytest.mark.sample(4)
def test_conditions_reach_the_source(query, scans, where, conditions):
    paths = sorted(path for (path,) in query(f"SELECT path FROM things WHERE {where}"))
    with duckdb.connect() as connection:
        connection.register("things", pa.Table.from_pylist(ROWS, SCHEMA))
        expected = connection.execute(f"SELECT path FROM things WHERE {where} ORDER BY 1")
        assert paths == [path for (path,) in expected.fetchall()]
    assert [condition[:3] for _, each in scans for condition in each] == conditions


def test_each_scan_of_a_plan_has_its_own_conditions(query, scans):
    rows = query("SELECT l.path FROM things l JOIN things r ON l.size = r.size WHERE r.size = 40")
    assert rows == [("a/04",)]
    assert len(scans) == 2


def test_a_limit_ends_the_scan(query):
    assert query("SELECT path FROM things LIMIT 2") == [("a/00",), ("b/01",)]


def test_text_of_users_is_not_parsed():
    hostile = "x' and literal: '1'\n\0\"end: 'equal'"
    expression = (pc.field("path") == hostile) & (pc.field("size") > 3)
    assert conditions_in(expression) == [
        Condition("path", "=", hostile),
        Condition("size", ">", 3),
    ]
    assert conditions_in(pc.scalar(True)) == []
    assert conditions_in(pc.field("sides", "size") == pc.field("size")) == []
