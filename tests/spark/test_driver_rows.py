"""Imports and exports send the driver neither objects nor rejected rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.driver_rows import driver_rows
from support.garbage import stored

import anabranch.spark
from anabranch.errors import Invalid
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs import boundary_tasks
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)

# 20,000 paths alone are half a megabyte
ROWS = 20_000
MAX_RESULT = "192k"
COLUMNS = (
    "concat('p', lpad(id % 997, 3, '0'), '/f', lpad(id, 6, '0')) AS path",
    "concat('local://raw/', id) AS physical_address",
    "id AS size",
)


@pytest.fixture
def partitions(spark):
    """Sorts into 12 partitions, each with a part of a range at both ends."""
    settings = {"spark.sql.shuffle.partitions": "12", "spark.sql.adaptive.enabled": "false"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("partitions")
@pytest.mark.slow  # a cost of the driver
def test_import_joins_the_ranges_of_tasks_in_tasks(spark, lake, monkeypatch):
    rewritten = []
    rewrite = boundary_tasks._rewrite
    monkeypatch.setattr(
        boundary_tasks, "_rewrite", lambda *given: rewritten.append(given[2]) or rewrite(*given)
    )
    paths = spark.range(0, ROWS, 1, 3).selectExpr(
        "concat(substr('abcd', int(id % 4) + 1, 1), '/', id * 14) AS path"
    )
    ends = spark.createDataFrame([(key.decode(),) for key in CUTS], "path STRING")
    listing = (
        paths.unionAll(ends)
        .distinct()
        .selectExpr("path", "concat('local://raw/', path) AS physical_address", "1L AS size")
    )
    lake.branches.create("sea", "local", "main")
    with driver_rows(spark, MAX_RESULT) as received:
        done = anabranch.spark.import_listing(lake, "sea", "main", listing, verify="none")
    (runs,) = rewritten
    assert len(runs) > boundary_tasks._FEW
    assert done.objects >= ROWS
    assert received.total < 200
    expected = lake.import_listing("sea", "local", collect_arrow(listing), verify="none")
    assert done.commit.metarange_id == expected.commit.metarange_id


@pytest.mark.parametrize("on_invalid", ["skip", "fail"])
@pytest.mark.sample(1)
def test_rejected_rows_reach_the_file_and_not_the_driver(spark, lake, tmp_path, on_invalid):
    path = tmp_path / "left-out.parquet"
    listing = spark.range(0, ROWS, 1, 3).selectExpr(
        *COLUMNS[:2], "IF(id % 10 = 0, id, -id) AS size"
    )
    options = {"verify": "none", "on_invalid": on_invalid, "rejected_rows": path}
    with driver_rows(spark, MAX_RESULT) as received:
        if on_invalid == "fail":
            with pytest.raises(Invalid, match="rows of the listing are invalid"):
                anabranch.spark.import_listing(lake, "sea", "main", listing, **options)
        else:
            done = anabranch.spark.import_listing(lake, "sea", "main", listing, **options)
            assert done.objects == ROWS // 10
    assert received.total < 200
    rejected = pq.read_table(path)
    assert rejected.num_rows == ROWS - ROWS // 10
    assert len(rejected["path"].unique()) == rejected.num_rows
    assert set(rejected["size"].cast(pa.int64()).to_pylist()) == {
        -number for number in range(ROWS) if number % 10
    }
    assert not [name for name in stored(lake, "local://sea") if "rejected" in name]


@pytest.mark.slow
def test_export_sends_the_driver_a_row_for_each_task(spark, lake, tmp_path):
    for number in range(300):
        lake.objects.upload("sea", "main", f"d{number % 7}/{number:03d}", [b"%d" % number])
    lake.commits.commit("sea", "main", message="m", committer="c")
    with driver_rows(spark, MAX_RESULT) as received:
        summary = anabranch.spark.export(
            *(spark, lake, "sea", "main", str(tmp_path / "out")), entries_per_task=20
        )
    assert summary.stored == 300
    assert len([each for each in (tmp_path / "out").rglob("*/*") if each.is_file()]) == 300
    assert 10 <= received.total < 40
