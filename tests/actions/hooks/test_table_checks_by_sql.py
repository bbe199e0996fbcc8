"""Checks of tables find what DuckDB finds with SQL, for any small tables."""

import csv
import io

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hooks.hook_runs import hook_context
from support.library_lake import LibraryLake
from support.session.hypothesis_profiles import examples

from anabranch.actions.hooks.checks.check import check
from anabranch.actions.hooks.checks.tables.table_checks import table_checks
from anabranch.errors import HookFailed
from anabranch.library import open_lake

CELLS = st.none() | st.integers(-3, 3)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with open_lake(tmp_path_factory.mktemp("lake")) as opened:
        opened.repositories.create("flights", "local://flights")
        opened.branches.create("flights", "dev", "main")
        yield LibraryLake(opened, "flights")


def as_parquet(rows):
    stream = io.BytesIO()
    columns = {
        name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate("ab")
    }
    pq.write_table(pa.table(columns), stream, row_group_size=3)
    return stream.getvalue()


def as_csv(rows):
    stream = io.StringIO()
    csv.writer(stream).writerows([("a", "b"), *rows])
    return stream.getvalue().encode()


def problems(lake, rule):
    context = hook_context(lake, reference="dev", base="main")
    try:
        table_checks(check({"tables": [rule]}).tables.properties).run(context)
    except HookFailed:
        return context.output.text().splitlines()
    return []


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(ROWS, min_size=1, max_size=2), st.booleans(), st.integers(-3, 3), st.integers(-3, 3)
)
def test_problems_are_those_that_sql_finds(lake, tables, is_parquet, one, other):
    low, high = min(one, other), max(one, other)
    suffix, write = ("parquet", as_parquet) if is_parquet else ("csv", as_csv)
    for path in [item.path for item in lake.list("dev", amount=100).items]:
        lake.lake.objects.delete("flights", "dev", path)
    lake.put("dev", **{f"t/{at}.{suffix}": write(rows) for at, rows in enumerate(tables)})
    database = duckdb.connect()
    database.execute("CREATE TABLE t (f INTEGER, r INTEGER, a BIGINT, b BIGINT)")
    for file, rows in enumerate(tables):
        database.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [(file, at, *row) for at, row in enumerate(rows, 1)],
        )

    def places(condition):
        query = f"SELECT f, min(r) FROM t WHERE {condition} GROUP BY f ORDER BY f"
        return database.execute(query).fetchall()

    found = problems(lake, {"path": "t/*", "not_null": "a"})
    assert found == [
        f"t/{file}.{suffix}, row {row}: column a is null: give it a value"
        for file, row in places("a IS NULL")
    ]

    found = problems(lake, {"path": "t/*", "ranges": {"b": {"min": low, "max": high}}})
    assert [line.partition(":")[0] for line in found] == [
        f"t/{file}.{suffix}, row {row}" for file, row in places(f"b NOT BETWEEN {low} AND {high}")
    ]

    count = database.execute("SELECT count(*) FROM t").fetchone()[0]
    rule = {"path": "t/*", "rows": {"min": count, "max": count}, "together": True}
    assert problems(lake, rule) == []
    assert len(problems(lake, {**rule, "rows": {"max": count - 1}})) == 1

    keys = "SELECT a, b, min((f, r)), max((f, r)) FROM t WHERE a IS NOT NULL AND b IS NOT NULL"
    repeated = database.execute(f"{keys} GROUP BY a, b HAVING count(*) > 1 ORDER BY 3").fetchall()
    found = [
        line
        for line in problems(lake, {"path": "t/*", "unique": ["a", "b"], "together": True})
        if "the key" in line
    ]
    assert len(found) == min(len(repeated), 1)
    if repeated:
        _, _, first, last = repeated[0]
        one_file = "" if first[0] == last[0] else f"t/{first[0]}.{suffix}, "
        assert found[0].startswith(f"t/{last[0]}.{suffix}, row {last[1]}: the key ")
        assert f"is also in {one_file}row {first[1]}: " in found[0]
