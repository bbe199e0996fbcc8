"""Garbage collection on Spark finds what it finds in one process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from anabranch.model.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.listing import LISTING, listed
from anabranch.pipelines.garbage.namespace import namespace_of
from anabranch.spark.garbage import SparkMarking
from anabranch.testing.garbage import DAY, addresses, stored

pytestmark = pytest.mark.timeout(600)

AGES = 30 * DAY


@pytest.fixture
def collector(lake, tmp_path):
    """Of a clock that is a month ahead, for a store whose files are as old as they are."""
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)


@pytest.fixture
def history(lake):
    """Commits, a tag, staged changes, an upload, another repository: and what they left behind."""
    lake.repositories.create("land", "local://land")
    for round_ in range(4):
        for number in range(30):
            body = b"%d %d" % (round_, number)
            path = f"{chr(97 + number % 5)}/{number}"
            lake.objects.upload("sea", "main", path, [body])
            if number % 3 == 0:
                lake.objects.upload("sea", "main", path, [body + b"!"])
        lake.commits.commit("sea", "main", message="m", committer="c", date=1_700_000_000 + round_)
    lake.tags.create("sea", "kept", "main~2")
    lake.objects.upload("sea", "main", "a/0", [b"staged"])
    lake.uploads.create("sea", "main", "big")
    dead = lake.objects.stat("sea", "main~3", "b/1")
    lake.staging.stage(
        "land", "main", "x", address=dead.physical_address, checksum=dead.entry.checksum, size=1
    )
    lake.commits.commit("land", "main", message="m", committer="c")
    lake.garbage_rules.set("sea", RetentionRules(1))
    namespace = namespace_of(lake.core.repositories.get("sea"), lake.blocks)
    batches = list(listed(lake.blocks, namespace))
    table = pa.Table.from_batches(batches, schema=LISTING)
    return table, dead.entry.address


def aged(lake):
    """Makes all objects look old."""
    then = time.time() - AGES
    for name in stored(lake, "local://sea"):
        if name.startswith("data/"):
            os.utime(lake.blocks.local_path(f"local://sea/{name}"), (then, then))


def test_both_engines_find_the_same(spark, lake, history, collector):
    _, revived = history
    aged(lake)
    with collector.mark("sea", grace_seconds=-5) as run:
        local = run.summary
        expected = {tuple(row.values()) for batch in run.candidates() for row in batch.to_pylist()}
    assert len(expected) > 60
    marking = SparkMarking(spark, lake, "sea", entries_per_task=20)
    time.sleep(1.1)  # runs of one second do not know each other's order
    with collector.mark("sea", grace_seconds=-5, marking=marking) as run:
        found = {tuple(row.values()) for batch in run.candidates() for row in batch.to_pylist()}
        summary = run.summary
    assert found == expected
    assert summary.engine == "spark"
    assert (summary.listed, summary.young) == (local.listed, local.young)
    assert summary.found.ranges == local.found.ranges
    assert revived not in {row[0] for row in found}


def test_a_listing_comes_from_anywhere_and_a_sweep_goes_on(spark, lake, history, collector):
    table, _ = history
    aged(lake)
    listing = spark.createDataFrame(table)
    marking = SparkMarking(spark, lake, "sea", listing=listing)
    options = {"grace_seconds": -5, "window_seconds": -5}
    with collector.mark("sea", marking=marking, **options) as run:
        dead = addresses(run.due())
        assert run.sweep().swept.objects == len(dead) > 60
    assert not dead & stored(lake, "local://sea")
    with collector.mark("sea", **options) as run:
        assert addresses(run.candidates()) == set()
    for reference in ("main", "kept"):
        for stat in lake.objects.listing("sea", reference, amount=1000).items:
            assert lake.objects.open("sea", reference, stat.path).read_bytes()


@pytest.mark.usefixtures("history")
def test_a_lost_range_fails_by_name(spark, lake, collector):
    tree = lake.core.trees.open(
        lake.core.repositories.get("sea"), lake.commits.get("sea", "main").metarange_id
    )
    lost = tree.ranges()[0].id
    Path(lake.blocks.local_path(f"local://sea/_lakefs/{lost}")).unlink()
    before = stored(lake, "local://sea")
    with pytest.raises(PySparkException, match=lost):
        collector.mark("sea", marking=SparkMarking(spark, lake, "sea"))
    assert before <= stored(lake, "local://sea")
