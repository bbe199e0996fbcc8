"""Partitions by dates and times of any year, which DuckDB writes through the catalog."""

from __future__ import annotations

import pytest
from support.clients.duckdb_catalog import MISSING_EXTENSIONS, attached_catalogs

pytestmark = pytest.mark.skipif(
    bool(MISSING_EXTENSIONS), reason=f"needs DuckDB's extensions {MISSING_EXTENSIONS}"
)
DAYS = ["0044-03-15 (BC)", "0001-01-01", "1582-10-10", "1969-12-31", "9999-12-31", "20240-01-01"]
COLUMNS = "id BIGINT, day DATE, local TIMESTAMP, instant TIMESTAMPTZ"


def rows(first):
    """Returns rows in SQL, with ids from `first` on."""
    times = [f"'{day}', '{day} 23:59:59.999999', '{day} 00:00:00+00'" for day in DAYS]
    numbered = enumerate([*times, "NULL, NULL, NULL"], first)
    return ", ".join(f"({number}, {values})" for number, values in numbered)


@pytest.mark.parametrize(
    "parts",
    ["day", "local, instant", "day(day), day(local)", "hour(instant), month(day), year(local)"],
)
@pytest.mark.sample(2)
def test_tables_are_read_and_merged(lake, parts):
    with attached_catalogs(lake.server, lake.name, ["main"]) as engine:
        engine.execute(f"CREATE TABLE on_main.city.t ({COLUMNS}) PARTITIONED BY ({parts})")
        engine.execute(f"INSERT INTO on_main.city.t VALUES {rows(0)}")
    lake.branch("dev")
    with attached_catalogs(lake.server, lake.name, ["main", "dev"]) as engine:
        engine.execute(f"INSERT INTO on_dev.city.t VALUES {rows(10)}")
        engine.execute(f"INSERT INTO on_main.city.t VALUES {rows(20)}")
    merged = lake.merge("dev")
    assert merged.status_code == 200, merged.text
    sql = "SELECT id, day::VARCHAR, local::VARCHAR, instant::VARCHAR FROM {} ORDER BY id"
    with attached_catalogs(lake.server, lake.name, ["main"]) as engine:
        engine.execute(f"CREATE TEMP TABLE model ({COLUMNS})")
        engine.execute(f"INSERT INTO model VALUES {rows(0)}, {rows(10)}, {rows(20)}")
        expected = engine.execute(sql.format("model")).fetchall()
        assert engine.execute(sql.format("on_main.city.t")).fetchall() == expected
    path = "_tables/city/t/table.json"
    table = f"iceberg_table('lakefs://{lake.name}/main/{path}')"
    answer = lake.api.post(f"{lake.root}/refs/main/query", json={"sql": sql.format(table)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["rows"] == [list(row) for row in expected]
    shown = lake.api.get(f"{lake.root}/refs/main/tables/preview", params={"path": path}).json()
    assert len(shown["rows"]) == len(expected)
    if parts == "day":
        days = {day for each in shown["partitions"] for day in each["values"].values()}
        assert days >= {None, "-0043-03-15", "0001-01-01", "1582-10-10", "20240-01-01"}
