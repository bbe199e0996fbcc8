"""The strategy `rows`, compared with the same merge written in SQL."""

import tempfile
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

TYPES = {"n": "INTEGER", "x": "DOUBLE", "day": "DATE", "t": "VARCHAR", "l": "INTEGER[]"}
VALUES = {
    "n": "{}",
    "x": "{} / 2",
    "day": "DATE '2020-01-01' + {}",
    "t": "'text ' || {}",
    "l": "[{}, NULL]",
}
CELLS = st.one_of(st.none(), st.integers(1, 3))
TABLES = st.dictionaries(
    st.tuples(st.integers(1, 4), st.integers(1, 2)),
    st.tuples(*(CELLS for _ in TYPES)),
    max_size=7,
)
SIDES = ("base", "source", "destination")


def create(connection, side, table):
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    connection.execute(f"CREATE TABLE {side} (k INTEGER, part INTEGER, {columns})")
    for key, cells in table.items():
        values = [
            "NULL" if cell is None else VALUES[name].format(cell)
            for name, cell in zip(TYPES, cells, strict=True)
        ]
        listed = ", ".join([*map(str, key), *values])
        connection.execute(f"INSERT INTO {side} VALUES ({listed})")


def same(one, other, name):
    return f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}"


def merge_in_sql(connection):
    """Creates the table `merged`; returns the places that conflict, as (k, part, column)."""
    connection.execute(
        "CREATE TABLE joined AS SELECT keys.*, b, s, d, "
        "b.k IS NOT NULL AS in_b, s.k IS NOT NULL AS in_s, d.k IS NOT NULL AS in_d FROM "
        "(SELECT k, part FROM base UNION SELECT k, part FROM source "
        "UNION SELECT k, part FROM destination) keys "
        "LEFT JOIN base b ON (b.k, b.part) = (keys.k, keys.part) "
        "LEFT JOIN source s ON (s.k, s.part) = (keys.k, keys.part) "
        "LEFT JOIN destination d ON (d.k, d.part) = (keys.k, keys.part)"
    )
    all_three = "in_b AND in_s AND in_d"
    clashes = [
        f"SELECT k, part, '{name}' FROM joined WHERE in_s AND in_d "
        f"AND NOT ({same('s', 'd', name)}) AND (NOT in_b OR "
        f"NOT ({same('s', 'b', name)}) AND NOT ({same('d', 'b', name)}))"
        for name in TYPES
    ]
    clashes.append(
        "SELECT k, part, '' FROM joined WHERE in_b AND "
        "((in_d AND NOT in_s AND d IS DISTINCT FROM b) OR "
        "(in_s AND NOT in_d AND s IS DISTINCT FROM b))"
    )
    cells = ", ".join(
        f"CASE WHEN NOT in_d THEN s.{name} WHEN NOT in_s THEN d.{name} "
        f"WHEN {all_three} AND {same('d', 'b', name)} THEN s.{name} ELSE d.{name} END AS {name}"
        for name in TYPES
    )
    connection.execute(
        f"CREATE TABLE merged AS SELECT k, part, {cells} FROM joined "
        "WHERE (in_d AND in_s) OR NOT in_b"
    )
    return set(connection.execute(" UNION ALL ".join(clashes)).fetchall())


@pytest.mark.parametrize("extension", ["parquet", "csv"])
@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)
@given(TABLES, TABLES, TABLES)
@pytest.mark.sample(1)
def test_a_merge_is_that_of_sql(extension, base, source, destination):
    options = "FORMAT csv, HEADER" if extension == "csv" else "FORMAT parquet"
    tables = dict(zip(SIDES, (base, source, destination), strict=True))
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        contents = {}
        for side, table in tables.items():
            create(connection, side, table)
            file = Path(folder, side)
            connection.execute(f"COPY {side} TO '{file}' ({options})")
            contents[side] = file.read_bytes()
        clashes = merge_in_sql(connection)
        path = f"t.{extension}"
        run = run_strategy(rows_strategy({"key": ["k", "part"]}), path, **contents)
        found = {(int(c.key["k"]), int(c.key["part"]), c.column) for c in run.conflicts}
        assert found == clashes
        if clashes:
            return
        Path(folder, "result").write_bytes(run.files[path])
        reader = f"read_{extension}('{folder}/result'"
        if extension == "csv":
            columns = {"k": "INTEGER", "part": "INTEGER", **TYPES}
            reader += f", header = true, auto_detect = false, columns = {columns}"
        result = f"SELECT * FROM {reader})"
        for one, other in ((result, "FROM merged"), ("FROM merged", result)):
            assert connection.execute(f"({one}) EXCEPT ALL ({other})").fetchall() == []
