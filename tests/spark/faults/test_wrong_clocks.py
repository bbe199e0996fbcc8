"""Executors whose clocks are an hour ahead or behind."""

from __future__ import annotations

import os
import time

import pyarrow as pa
import pytest
from support.faults.shifted_clock import ClockShiftingStore
from support.garbage import addresses, aged, stored

import anabranch.spark
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import Deadline, Fence
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.garbage.store_deadline import StoreDeadline
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import open_store

pytestmark = pytest.mark.timeout(600)

HOUR = 3600
LONG_AGO = "c" * 20
"""An id of a time long ago."""

SHIFTS = pytest.mark.parametrize("shift", [HOUR, -HOUR], ids=["ahead", "behind"])
HALF_AN_HOUR = {"grace_seconds": HOUR / 2, "window_seconds": 0}


@pytest.fixture
def shifted(lake, shift):
    return ClockShiftingStore(lake.blocks.opener(), shift, os.getpid())


@pytest.fixture
def collector(lake, tmp_path):
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)


@pytest.fixture
def garbage(lake):
    """The addresses of two dead objects: one that is named and stored long ago, and a new one."""
    old = f"data/{LONG_AGO}/{LONG_AGO}"
    lake.blocks.put(f"local://sea/{old}", [b"dead"])
    aged(lake, "local://sea")
    new = lake.objects.upload("sea", "main", "a", [b"dead"]).entry.address
    lake.objects.upload("sea", "main", "a", [b"kept"])
    lake.commits.commit("sea", "main", message="m", committer="c")
    return [old, new]


@SHIFTS
def test_the_clocks_of_workers_are_wrong_in_these_tests(spark, shifted, shift):
    def ahead(_):
        right = time.time()
        with open_store(shifted):
            yield pa.RecordBatch.from_pydict({"seconds": [time.time() - right]})

    schema = pa.schema([("seconds", pa.float64())])
    (row,) = map_in_tasks(spark, [0], ahead, schema).collect()
    assert abs(row["seconds"] - shift) < HOUR / 2


@pytest.mark.sample(1)
@SHIFTS
@pytest.mark.slow  # nothing is removed late, below
def test_garbage_collection_finds_and_removes_the_same_objects(
    spark, lake, shifted, collector, garbage
):
    """The old one is a candidate, the new one is too young by every clock that counts."""
    old, new = garbage
    with collector.mark("sea", engine=SparkEngine(spark, shifted, tasks=2), **HALF_AN_HOUR) as run:
        assert addresses(run.candidates()) == {old}
        assert run.summary.young == 2
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (1, 0)
    assert not [each for each in stored(lake, "local://sea") if "/clock/" in each]
    left = stored(lake, "local://sea")
    assert old not in left
    assert new in left
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"kept"


@pytest.mark.sample(1)
@SHIFTS
def test_nothing_is_removed_after_the_deadline_of_a_round(
    spark, lake, shifted, collector, garbage, monkeypatch
):
    """By the clock of a worker that is an hour behind, half an hour would be left."""
    monkeypatch.setattr(Fence.begin_round, "__defaults__", (-HOUR / 2,))
    with collector.mark("sea", engine=SparkEngine(spark, shifted, tasks=2), **HALF_AN_HOUR) as run:
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (0, 1)
    assert garbage[0] in stored(lake, "local://sea")


@pytest.mark.slow
@SHIFTS
def test_imports_have_the_same_tables(spark, lake, shifted):
    """A row without a time has none, rather than that of the worker."""
    listing = spark.range(0, 300, 1, 3).selectExpr(
        "concat('f/', id) AS path",
        "concat('local://elsewhere/', id) AS physical_address",
        "id AS size",
    )
    lake.branches.create("sea", "local", "main")
    imported = anabranch.spark.import_listing(
        lake, "sea", "main", listing, store=shifted, verify="none"
    )
    expected = lake.import_listing("sea", "local", listing.toArrow(), verify="none")
    assert imported.commit.metarange_id == expected.commit.metarange_id


@pytest.mark.parametrize("seconds", [-10, 600])
@pytest.mark.sample(1)
@SHIFTS
def test_a_deadline_by_the_stores_clock_is_the_drivers(lake, monkeypatch, shift, seconds):
    prefix = "local://sea/_lakefs/run/clock/"
    deadline = Deadline.after(seconds)
    there = StoreDeadline.of(deadline, lake.blocks, prefix)
    here = there.on_this_machine(lake.blocks)
    assert here.ticks <= deadline.ticks + 1  # the store's clock has whole seconds
    right = time.time
    monkeypatch.setattr("time.time", lambda: right() + shift)
    assert there.on_this_machine(lake.blocks).passed() == (seconds < 0)
