"""The sample data: lakeFS's quick start works on it, step by step."""

from __future__ import annotations

import duckdb
import lakefs
import pytest
from lakefs_spec import LakeFSFileSystem

COUNTED = (
    "SELECT Country, count(*) AS n FROM '{}' GROUP BY country ORDER BY n DESC, Country LIMIT 5"
)


@pytest.fixture
def quickstart(client, fresh, server):
    repository = lakefs.Repository(fresh, client=client)
    return repository.create(f"{server.storage}{fresh}", include_samples=True)


@pytest.fixture
def duck(credentials):
    with duckdb.connect() as connection:
        connection.register_filesystem(
            LakeFSFileSystem(**credentials, skip_instance_cache=True, use_listings_cache=False)
        )
        yield connection


def test_objects_of_the_quick_start_exist(quickstart):
    objects = {item.path: item for item in quickstart.ref("main").objects()}
    assert {"README.md", "lakes.parquet"} <= set(objects)
    for folder in ("data/", "images/"):
        assert any(path.startswith(folder) for path in objects), folder
    assert sum(item.size_bytes for item in objects.values()) < 20_000
    assert quickstart.ref("main").get_commit().message == "Add sample data"


def test_the_columns_are_lakefs_s(quickstart, duck):
    table = f"lakefs://{quickstart.id}/main/lakes.parquet"
    described = duck.sql(f"DESCRIBE SELECT * FROM '{table}'").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [
        ("Hylak_id", "BIGINT"),
        ("Lake_name", "VARCHAR"),
        ("Country", "VARCHAR"),
        ("Depth_m", "DOUBLE"),
    ]
    query = f"SELECT count(*), count(DISTINCT Hylak_id), min(Depth_m) > 0 FROM '{table}'"
    lakes, numbers, deep = duck.sql(query).fetchone()
    assert lakes == numbers >= 100
    assert deep
    depth = f"SELECT Depth_m FROM '{table}' WHERE Lake_name = 'Mälaren'"
    assert duck.sql(depth).fetchall() == [(13.0,)]


def test_the_steps_of_the_quick_start(quickstart, duck):
    main = f"lakefs://{quickstart.id}/main/lakes.parquet"
    before = duck.sql(COUNTED.format(main)).fetchall()
    assert before[0][0] == "United States of America"
    branch = quickstart.branch("denmark-lakes").create(source_reference="main")
    other = f"lakefs://{quickstart.id}/denmark-lakes/lakes.parquet"
    duck.sql(f"CREATE TABLE lakes AS SELECT * FROM '{other}'")
    duck.sql("DELETE FROM lakes WHERE Country != 'Denmark'")
    assert duck.sql("SELECT count(*) FROM lakes").fetchone()[0] > 3
    duck.sql(f"COPY lakes TO '{other}'")
    danish = duck.sql(COUNTED.format(other)).fetchall()
    assert [country for country, _ in danish] == ["Denmark"]
    assert duck.sql(COUNTED.format(main)).fetchall() == before
    branch.commit("Create a dataset of just the lakes in Denmark")
    branch.merge_into(quickstart.branch("main"))
    assert duck.sql(COUNTED.format(main)).fetchall() == danish
    quickstart.branch("main").revert("main", parent_number=1)
    assert duck.sql(COUNTED.format(main)).fetchall() == before
