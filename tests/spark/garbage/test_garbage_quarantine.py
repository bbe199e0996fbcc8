"""Sweeps into quarantine on Spark, with restorations and purges, as in one process."""

from __future__ import annotations

from functools import partial

import pytest
from support.garbage import DAY, commit
from support.quarantine import NOW, WEEK

from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.marking.missing import CLOCK_SKEW_SECONDS
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.garbage.round_gate import RoundGate

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def sea(local_sea, monkeypatch):
    """A repository whose runs go by its clock alone."""
    monkeypatch.setattr(RunFiles, "store_time", lambda _: None)
    return local_sea()


def sweep(spark, sea, seconds=WEEK):
    engine = SparkEngine(spark, partial(LocalBlocks, str(sea.folder / "blocks")), tasks=2)
    with sea.collector.mark("sea", quarantine_seconds=seconds, engine=engine, **NOW) as run:
        return run.sweep()


def test_objects_are_restored_after_a_sweep_by_tasks(spark, sea):
    summary = sweep(spark, sea)
    assert (summary.engine, summary.state, summary.late) == ("spark", "swept", 0)
    assert (summary.quarantined.objects, summary.quarantined.bytes) == (3, 18)
    assert (summary.swept.objects, summary.purged.objects) == (0, 0)
    assert sea.data() == {sea.kept}
    (run,) = sea.restorer.runs("sea")
    assert (run.run_id, run.quarantined.objects, run.quarantined.bytes) == (summary.run_id, 3, 18)
    done = sea.restorer.restore("sea", run.run_id)  # at once: no tombstone is left
    assert (done.restored.objects, done.failed) == (3, 0)
    assert {name: sea.read(name) for name in sea.dead} == sea.dead
    assert sweep(spark, sea).quarantined.objects == 0  # restored objects are protected
    assert sea.data() == {sea.kept, *sea.dead}


def test_object_referenced_meanwhile_is_not_moved(spark, sea):
    engine = SparkEngine(spark, partial(LocalBlocks, str(sea.folder / "blocks")), tasks=2)
    with sea.collector.mark("sea", quarantine_seconds=WEEK, engine=engine, **NOW) as run:
        again = min(sea.dead)
        sea.stage(again)
        summary = run.sweep()
    assert (summary.quarantined.objects, summary.revived) == (2, 1)
    assert sea.data() == {sea.kept, again}


def test_sweep_by_tasks_purges_expired_objects_but_referenced_ones(spark, sea):
    sweep(spark, sea, DAY)
    referenced, *others = sorted(sea.dead)
    sea.stage(referenced)
    commit(sea.lake)  # a range of a commit has the reference, which tasks read
    sea.clock.advance(DAY)
    assert sweep(spark, sea).purged.objects == 0
    sea.clock.advance(CLOCK_SKEW_SECONDS + 700)
    summary = sweep(spark, sea, None)
    assert (summary.purged.objects, summary.purged.bytes) == (len(others), 12)
    (run,) = sea.restorer.runs("sea")
    done = sea.restorer.restore("sea", run.run_id)
    assert (done.restored.objects, sea.read(referenced)) == (1, sea.dead[referenced])


def test_tombstones_stay_while_an_attempt_may_still_run(spark, sea, monkeypatch):
    monkeypatch.setattr(RoundGate, "close", lambda *_: False)
    summary = sweep(spark, sea)
    done = sea.restorer.restore("sea", summary.run_id)
    assert (done.restored.objects, len(done.busy)) == (0, 3)
    sea.end_leases()
    assert sea.restorer.restore("sea", summary.run_id).restored.objects == 3
