"""Sweep tasks that miss their deadline, and stores that throttle them."""

from __future__ import annotations

import time

import pytest
from support.garbage import aged, stored

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy, Conflict
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import Fence
from anabranch.spark.jobs.garbage import SparkEngine, sweep
from anabranch.testing.stores import FaultyBlocks, fail_at
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS, SweepRecords

pytestmark = pytest.mark.timeout(600)

NOW = {"grace_seconds": -5, "window_seconds": -5}
HOUR = 3600


class ThrottledStore:
    """Opens a local store whose first delete raises Busy."""

    def __init__(self, root):
        self.root = root

    def __call__(self):
        return FaultyBlocks(LocalBlocks(self.root), fail_at("delete", 1, Busy("SlowDown")))


@pytest.fixture
def old(lake):
    """An object that is due for removal."""
    stat = lake.objects.upload("sea", "main", "a", [b"old"])
    lake.objects.upload("sea", "main", "a", [b"kept"])
    aged(lake, "local://sea")
    return stat


@pytest.fixture
def collector(lake, tmp_path):
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)


def test_rounds_grow_with_the_number_of_tasks():
    largest = [sweep._largest_round(tasks) for tasks in (1, 16, 32, 64, 1_000)]
    assert largest == [1 << 20, 1 << 20, 1 << 21, 1 << 22, 1 << 22]


def stage(lake, old):
    lake.staging.stage(
        *("sea", "main", "again"),
        address=old.physical_address,
        checksum=old.entry.checksum,
        size=old.entry.size,
    )


@pytest.mark.slow
def test_tombstones_of_a_late_round_are_kept_until_the_lease_expires(
    spark, lake, old, collector, monkeypatch
):
    """An attempt at a task that Spark has abandoned may have been in time, and may still be
    running.
    """
    monkeypatch.setattr(Fence.begin_round, "__defaults__", (-HOUR,))
    with collector.mark("sea", engine=SparkEngine(spark, tasks=2), **NOW) as run:
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (0, 1)
    with pytest.raises(Conflict) as refused:
        stage(lake, old)
    assert (refused.value.kind, bool(refused.value.hint)) == ("being_removed", True)
    ahead = LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1
    later = SweepRecords(lake.keyvalue, lambda: time.time() + ahead)
    later.begin("later")
    later.end("later")
    stage(lake, old)
    assert lake.objects.open("sea", "main", "again").read_bytes() == b"old"
    assert lake.core.sweeps.running()[0] == []


@pytest.mark.slow
def test_task_retries_a_throttled_removal(spark, lake, old, collector):
    root = lake.blocks.local_path("local://sea/_").removesuffix("/sea/_")
    engine = SparkEngine(spark, ThrottledStore(root), tasks=1)
    with collector.mark("sea", engine=engine, **NOW) as run:
        assert run.sweep().swept.objects == 1
    assert old.entry.address not in stored(lake, "local://sea")
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"kept"
