"""Sweeps into quarantine on Spark, with restorations and purges, as in one process."""

from __future__ import annotations

from functools import partial

import pytest
from support.garbage import DAY, commit
from support.quarantine import NOW, WEEK
from support.session.sizes import WEEKLY

from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.garbage.round_gate import RoundGate
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def scenario(local_scenario, monkeypatch):
    """A repository whose runs go by its clock alone."""
    monkeypatch.setattr(RunFiles, "store_time", lambda _: None)
    return local_scenario()


def sweep(spark, scenario, seconds=WEEK):
    engine = SparkEngine(spark, partial(LocalBlocks, str(scenario.folder / "blocks")), tasks=2)
    with scenario.collector.mark("sea", quarantine_seconds=seconds, engine=engine, **NOW) as run:
        return run.sweep()


@pytest.mark.slow  # so are those of a purge, below
def test_objects_are_restored_after_a_sweep_by_tasks(spark, scenario):
    summary = sweep(spark, scenario)
    assert (summary.engine, summary.state, summary.late) == ("spark", "swept", 0)
    assert (summary.quarantined.objects, summary.quarantined.bytes) == (3, 18)
    assert (summary.swept.objects, summary.purged.objects) == (0, 0)
    assert scenario.data() == {scenario.kept}
    (run,) = scenario.restorer.runs("sea")
    assert (run.run_id, run.quarantined.objects, run.quarantined.bytes) == (summary.run_id, 3, 18)
    done = scenario.restorer.restore("sea", run.run_id)  # at once: no tombstone is left
    assert (done.restored.objects, done.failed) == (3, 0)
    assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead
    assert sweep(spark, scenario).quarantined.objects == 0  # restored objects are protected
    assert scenario.data() == {scenario.kept, *scenario.dead}


@pytest.mark.slow  # nor removed, in test_garbage.py
def test_object_referenced_meanwhile_is_not_moved(spark, scenario):
    engine = SparkEngine(spark, partial(LocalBlocks, str(scenario.folder / "blocks")), tasks=2)
    with scenario.collector.mark("sea", quarantine_seconds=WEEK, engine=engine, **NOW) as run:
        again = min(scenario.dead)
        scenario.stage(again)
        summary = run.sweep()
    assert (summary.quarantined.objects, summary.revived) == (2, 1)
    assert scenario.data() == {scenario.kept, again}


def test_sweep_by_tasks_purges_expired_objects_but_referenced_ones(spark, scenario):
    sweep(spark, scenario, DAY)
    referenced, *others = sorted(scenario.dead)
    scenario.stage(referenced)
    commit(scenario.lake)  # a range of a commit has the reference, which tasks read
    scenario.clock.advance(DAY)
    if WEEKLY:  # that purges wait longer is tested in tests/pipelines/garbage
        assert sweep(spark, scenario).purged.objects == 0
    scenario.clock.advance(CLOCK_SKEW_SECONDS + 700)
    summary = sweep(spark, scenario, None)
    assert (summary.purged.objects, summary.purged.bytes) == (len(others), 12)
    (run,) = scenario.restorer.runs("sea")
    done = scenario.restorer.restore("sea", run.run_id)
    assert (done.restored.objects, scenario.read(referenced)) == (1, scenario.dead[referenced])


def test_tombstones_stay_while_an_attempt_may_still_run(spark, scenario, monkeypatch):
    monkeypatch.setattr(RoundGate, "close", lambda *_: False)
    summary = sweep(spark, scenario)
    done = scenario.restorer.restore("sea", summary.run_id)
    assert (done.restored.objects, len(done.busy)) == (0, 3)
    scenario.end_leases()
    assert scenario.restorer.restore("sea", summary.run_id).restored.objects == 3
