"""Listings that are hard to divide: most rows under one prefix, empty partitions, repeated rows."""

from __future__ import annotations

import pytest

import anabranch.spark

pytestmark = pytest.mark.timeout(600)

ROWS = 3_000


@pytest.fixture
def skewed(spark):
    """A listing with 99 of 100 rows under one prefix, in partitions of which most are empty, with
    some rows three times, and its number of different paths.
    """
    rows = spark.range(0, ROWS, 1, 30).selectExpr(
        "IF(id % 100 = 0, concat('cold', id, '/x'), concat('hot/hot/hot/', lpad(id, 9, '0'))) path",
        "concat('local://raw/', id) AS physical_address",
        "id AS size",
        "timestamp_seconds(1700000000 + id) AS last_modified",
    )
    older = rows.where("size % 7 = 0").selectExpr(
        "path",
        "physical_address",
        "size + 1 AS size",
        "last_modified - INTERVAL 1 DAY AS last_modified",
    )
    empty = spark.range(0, 0, 1, 9).join(rows.limit(0)).select(*rows.columns)
    few = rows.where("size < 0").repartition(20)
    return rows.unionAll(older).unionAll(empty).unionAll(few).unionAll(older)


@pytest.mark.slow  # test_three_engines.py
def test_import_equals_that_of_the_local_engine(spark, lake, skewed):
    lake.branches.create("sea", "local", "main")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "9")
    try:
        options = {"verify": "none", "on_invalid": "skip"}
        done = anabranch.spark.import_listing(lake, "sea", "main", skewed, **options)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    expected = lake.import_listing("sea", "local", skewed.toArrow(), **options)
    assert done.objects == expected.objects == ROWS
    assert dict(done.skipped) == dict(expected.skipped)
    assert sum(done.skipped.values()) == 2 * len(range(0, ROWS, 7))
    assert done.commit.metarange_id == expected.commit.metarange_id


@pytest.mark.slow  # an odd listing
def test_listing_without_rows_raises_not_found(lake, skewed):
    with pytest.raises(anabranch.errors.NotFound, match="the listing has no objects"):
        anabranch.spark.import_listing(lake, "sea", "main", skewed.where("size < 0"), verify="none")
