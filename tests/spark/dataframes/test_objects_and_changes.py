"""DataFrames of commits equal listings and diffs."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import anabranch.spark
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.table_addresses import tables_address
from anabranch.errors import NotFound, NotSupported
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.spark.planning.partition_planning import list_ranges
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)

FULL, FULL_BY_PREFIX = 2, 3
RANDOM = random.Random(6)
# the paths in CUTS end ranges, so that the commits have many ranges
PATHS = [*(key.decode() for key in CUTS), "a b/é=1/漢.parquet", "%2F", "z/" + "x" * 900]
PATHS += [f"{folder}/{number}" for folder in "abcde" for number in range(40)]


def fill(lake, paths, version):
    """Stages objects of all kinds: with and without metadata, of other stores, without content
    type.
    """
    for path in paths:
        number = RANDOM.randrange(1000)
        kind = number % 5
        entry = Entry(
            address=f"s3://other/{number}" if kind in (FULL, FULL_BY_PREFIX) else f"data/{number}",
            address_type=kind % 3,
            size=number * 2**30,
            mtime=1_700_000_000 + number,
            mtime_nanos=number * 1_000_000 + 999,
            checksum=f"{version}-{number}",
            metadata={"ä": f"é{number}", "b": ""} if number % 3 else {},
            content_type="" if number % 7 else "text/csv",
        )
        lake.core.changes.put(lake.repositories.get("sea"), "main", path, entry)


@pytest.fixture
def filled(lake):
    """The lake with the tags `before` and `after`, which differ in a tenth of their paths."""
    fill(lake, PATHS, 1)
    lake.commits.commit("sea", "main", message="One", committer="c")
    lake.tags.create("sea", "before", "main")
    fill(lake, [*RANDOM.sample(PATHS, 10), "new/1", "new/2", "b/0"], 2)
    lake.objects.delete_many("sea", "main", [path for path in PATHS if path.startswith("c/1")])
    lake.commits.commit("sea", "main", message="Two", committer="c")
    lake.tags.create("sea", "after", "main")
    fill(lake, ["staged"], 3)
    return lake


def entry_row(namespace, entry):
    if entry is None:
        return None
    # PySpark returns naive timestamps in the local time zone
    when = dt.datetime.fromtimestamp(entry.mtime)  # noqa: DTZ006
    when = when.replace(microsecond=entry.mtime_nanos // 1000)
    address = physical_address(namespace, entry.address, entry.address_type)
    return (address, when, entry.size, entry.checksum, entry.metadata, entry.content_type)


def listed(lake, reference, prefix=""):
    """Returns the objects of a listing, as rows."""
    namespace = lake.repositories.get("sea").storage_namespace
    listing = lake.objects.listing("sea", reference, prefix=prefix, amount=1000)
    return [(stat.path, *entry_row(namespace, stat.entry)) for stat in listing.items]


def diff(lake, left, right, prefix=""):
    """Returns the changes of a diff, as rows."""
    namespace = lake.repositories.get("sea").storage_namespace
    page = lake.refs.diff("sea", left, right, two_dot=True, prefix=prefix, amount=1000)
    return [
        (x.kind, x.path, entry_row(namespace, x.left), entry_row(namespace, x.right))
        for x in page.items
    ]


def rows(table):
    return [
        tuple(tuple(cell) if hasattr(cell, "asDict") else cell for cell in row)
        for row in table.collect()
    ]


@pytest.mark.parametrize("prefix", ["", "a b/é", "nothing"])
@pytest.mark.sample(2)
def test_objects_equal_those_of_a_listing(spark, filled, prefix):
    table = anabranch.spark.objects(
        spark, filled, "sea", "after", prefix=prefix, entries_per_task=20
    )
    assert rows(table) == listed(filled, "after", prefix)


def test_entries_per_task_sets_the_number_of_tasks(spark, filled):
    tree = filled.core.trees.open(
        filled.repositories.get("sea"), filled.commits.get("sea", "after").metarange_id
    )
    assert len(list_ranges(tree)) >= len(CUTS)
    table = anabranch.spark.objects(spark, filled, "sea", "after", entries_per_task=1)
    assert table.rdd.getNumPartitions() == len(list_ranges(tree))
    (totals,) = table.selectExpr("count(*)", "sum(size)").collect()
    assert tuple(totals) == (len(tree), sum(row[3] for row in listed(filled, "after")))


def test_branch_is_resolved_to_its_head_immediately(spark, filled):
    table = anabranch.spark.objects(spark, filled, "sea", "main")
    filled.objects.delete_many("sea", "main", PATHS)
    filled.commits.commit("sea", "main", message="None", committer="c")
    assert rows(table) == listed(filled, "after")
    assert "staged" not in {row.path for row in table.select("path").collect()}


@pytest.mark.parametrize("prefix", ["", "c/1"])
def test_changes_equal_those_of_a_diff(spark, filled, prefix):
    for left, right in (("before", "after"), ("after", "before")):
        table = anabranch.spark.changes(
            spark, filled, "sea", left, right, prefix=prefix, entries_per_task=20
        )
        assert rows(table) == diff(filled, left, right, prefix)


def test_changes_of_an_empty_commit_are_additions_and_of_equal_commits_none(spark, filled):
    root = filled.commits.log("sea", "main", amount=10).items[-1].id
    assert rows(anabranch.spark.objects(spark, filled, "sea", root)) == []
    table = anabranch.spark.changes(spark, filled, "sea", root, "before", entries_per_task=50)
    assert rows(table) == diff(filled, root, "before")
    assert {row.change for row in table.collect()} == {"added"}
    table = anabranch.spark.changes(spark, filled, "sea", "before", root, prefix="c/")
    assert rows(table) == diff(filled, "before", root, "c/")
    assert rows(anabranch.spark.changes(spark, filled, "sea", "after", "after")) == []


def test_missing_table_fails_the_job_with_its_name(spark, filled):
    table = anabranch.spark.objects(spark, filled, "sea", "after", entries_per_task=1)
    namespace = filled.repositories.get("sea").storage_namespace
    commit = filled.commits.get("sea", "after")
    tree = filled.core.trees.open(filled.repositories.get("sea"), commit.metarange_id)
    missing = tree.ranges()[3].id
    Path(filled.blocks.local_path(f"{tables_address(namespace)}/{missing}")).unlink()
    with pytest.raises(PySparkException, match=f"Corrupt: .*{missing}"):
        table.collect()


def test_unknown_repository_or_reference_raises_not_found(spark, filled):
    for repository, reference in (("sea", "nothing"), ("nothing", "main"), ("sea", "main~9")):
        with pytest.raises(NotFound):
            anabranch.spark.objects(spark, filled, repository, reference)
    with pytest.raises(NotFound):
        anabranch.spark.changes(spark, filled, "sea", "main", "nothing")


def test_store_in_memory_raises_not_supported(spark, tmp_path):
    lake = Lake(
        MemoryStore(), MemoryBlocks(), cache_folder=tmp_path, signing_secret=b"a secret of tests"
    )
    lake.repositories.create("sea", "mem://sea")
    with pytest.raises(NotSupported, match="mem://sea"):
        anabranch.spark.objects(spark, lake, "sea", "main")
