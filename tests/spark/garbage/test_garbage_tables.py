"""Files of tables are collected by Spark's tasks as by one process: the same files, and with the
same references ahead of steps of the driver.
"""

from __future__ import annotations

import os
from functools import partial

import msgspec
import pytest
from support.garbage import DAY

from anabranch.blocks.local.store import LocalBlocks
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.garbage.round_gate import RoundGate
from anabranch.spark.jobs.garbage.sweep import RemovalByTasks
from anabranch.versioning.garbage.record_admission import RecordAdmission
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS
from anabranch.versioning.garbage.table_files import TableFiles
from tests.pipelines.garbage.tables.scenario import (
    TableScenario,
    add_dead_files,
    append_as_usual,
    attempt,
    make_branch,
    stage_dead_files,
)
from tests.pipelines.garbage.tables.table_engine import Lost, read, readable, stored_file

pytestmark = pytest.mark.timeout(600)


class Killed(BaseException):
    """The end of the driver."""


@pytest.fixture
def make(spark, tmp_path):
    """Makes a scenario whose objects are in a folder, and are as old as its clock says."""
    made = []

    def scenario(way="database"):
        root = str(tmp_path / f"blocks{len(made)}")
        folder = tmp_path / f"lake{len(made)}"
        folder.mkdir()
        new = TableScenario(
            folder,
            lambda clock: LocalBlocks(root, clock=clock),
            way=way,
            scheme="local",
            engine=lambda: SparkEngine(spark, partial(LocalBlocks, root), slices=3, tasks=2),
        )
        made.append(new)
        old = new.clock() - 30 * DAY
        for block in new.lake.blocks.list(f"{new.namespace}/"):
            os.utime(new.lake.blocks.local_path(block.address), (old, old))
        return new

    yield scenario
    for each in made:
        each.lake.close()


def due(run):
    return {name for batch in run.due() for name in batch.column("address").to_pylist()}


@pytest.mark.parametrize("way", ["server", pytest.param("database", marks=pytest.mark.slow)])
def test_both_engines_find_and_remove_the_same_files(make, way):
    scenario = make(way)
    stray = f"{scenario.namespace}/tables/{'0' * 32}/no-area.parquet"
    upload = f"{scenario.namespace}/tables/uploads/{'0' * 32}-{'1' * 32}"
    old = scenario.clock() - 30 * DAY
    for address in (stray, upload):
        scenario.lake.blocks.put(address, [b"1"])
        os.utime(scenario.lake.blocks.local_path(address), (old, old))
    live = read(scenario.lake, "main")
    with scenario.mark(engine=None) as run:
        expected, report = due(run), run.summary.tables
        listed = run.summary.listed.objects
    with scenario.mark() as run:
        found, summary = due(run), run.summary
        assert found == expected
        assert any(name.startswith("tables/") for name in found)
        assert "tables/uploads/" in " ".join(found)
        assert summary.listed.objects == listed
        # what the first run has read is kept
        assert msgspec.structs.replace(summary.tables, marked=report.marked) == report
        assert summary.tables.marked.records == report.marked.records
        run.sweep()
    assert read(scenario.lake, "main") == live
    assert scenario.lake.blocks.stat(stray) is not None
    for address in scenario.dead:
        with pytest.raises(Lost):
            stored_file(scenario.lake, address)
    assert attempt(scenario, add_dead_files) is None


@pytest.fixture(scope="module")
def counted():
    """What the first run of the module has counted, which is the same for each run."""
    return []


@pytest.fixture
def steps(make, counted):
    """The number of the driver's steps at the end of marking, and of a whole run."""
    if not counted:
        scenario = make()
        scenario.steps.arm(-1, lambda: None)
        with scenario.mark() as run:
            counted.append(scenario.steps.count)
            run.sweep()
        counted.append(scenario.steps.count)
    return counted


@pytest.mark.parametrize("place", [0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("refer", [add_dead_files, stage_dead_files, make_branch, append_as_usual])
@pytest.mark.slow  # tests/pipelines/garbage/tables, at each step
def test_a_reference_ahead_of_a_step_is_refused_or_keeps_its_files(make, steps, refer, place):
    marked, whole = steps
    scenario, made = make(), []
    number = marked + int((whole - marked) * place)
    scenario.steps.arm(number, lambda: made.append(attempt(scenario, refer)))
    with scenario.mark() as run:
        run.sweep()
    assert made
    if made[0] is not None:
        reference, found = made[0]
        assert readable(scenario.lake, reference) == found, "files are gone"
    assert readable(scenario.lake, "main") is not None


@pytest.mark.parametrize("step", [24, 60, 84, 108])
@pytest.mark.sample(1)
def test_a_killed_driver_loses_nothing(make, step):
    """It is killed ahead of one of the 120 steps of a sweep."""
    scenario = make()

    def kill():
        raise Killed

    def killed_sweep():
        with scenario.mark() as run:
            scenario.steps.arm(step, kill)
            run.sweep()

    live = read(scenario.lake, "main")
    with pytest.raises(Killed):
        killed_sweep()
    scenario.steps.arm(-1, kill)
    assert read(scenario.lake, "main") == live
    with scenario.mark() as run:
        run.sweep()
    assert read(scenario.lake, "main") == live
    assert attempt(scenario, add_dead_files) is None
    scenario.clock.advance(LEASE_SECONDS + 2 * CLOCK_SKEW_SECONDS)
    assert attempt(scenario, add_dead_files) is None
    assert attempt(scenario, append_as_usual) is not None


@pytest.mark.slow  # test_garbage_quarantine.py
def test_names_are_refused_while_an_attempt_may_still_remove_their_files(make, monkeypatch):
    """An engine writes a file again under its name, which an attempt that was given up removes."""
    monkeypatch.setattr(RoundGate, "close", lambda *_: False)
    scenario = make()
    with scenario.mark() as run:
        run.sweep()
    for address in scenario.dead:
        area, _, path = address.partition("/.tables/")[2].partition("/")
        assert area == scenario.area.id
        scenario.lake.iceberg.areas.put(scenario.area, path, [b"again"])
    assert attempt(scenario, add_dead_files) is None  # its tombstones are there
    scenario.clock.advance(LEASE_SECONDS + 2 * CLOCK_SKEW_SECONDS)
    assert attempt(scenario, add_dead_files) is not None


@pytest.mark.slow
def test_without_its_tombstones_such_a_name_would_be_accepted(make, monkeypatch):
    keep = RemovalByTasks._remove

    def forgetful(self, dead, deadline, fence):
        monkeypatch.setattr(fence, "keep_tombstones", lambda: None)
        return keep(self, dead, deadline, fence)

    monkeypatch.setattr(RoundGate, "close", lambda *_: False)
    monkeypatch.setattr(RemovalByTasks, "_remove", forgetful)
    scenario = make()
    with scenario.mark() as run:
        run.sweep()
    for address in scenario.dead:
        path = address.partition("/.tables/")[2].partition("/")[2]
        scenario.lake.iceberg.areas.put(scenario.area, path, [b"again"])
    assert attempt(scenario, add_dead_files) is not None


@pytest.mark.parametrize("first", ["spark", "local"])
@pytest.mark.slow  # tests/pipelines/garbage/tables
def test_the_window_counts_across_engines(make, first):
    scenario = make()
    engines = {"spark": {}, "local": {"engine": None}}
    other = {"spark": "local", "local": "spark"}[first]
    with scenario.mark(window_seconds=DAY, **engines[first]) as run:
        assert not due(run)
    scenario.clock.advance(DAY / 2)
    # one that knows no files of tables between them does not begin the window anew
    with scenario.mark(window_seconds=DAY, engine=None, listing=()) as run:
        assert not run.summary.tables.collected
    scenario.clock.advance(DAY)
    with scenario.mark(window_seconds=DAY, **engines[other]) as run:
        assert run.sweep().tables.dead.objects
    with pytest.raises(Lost):
        stored_file(scenario.lake, scenario.dead[0])


def no_manifests(patch):
    patch.setattr(TableFiles, "manifest", lambda *_: frozenset())


def no_record(patch):
    patch.setattr(RecordAdmission, "record_swept", lambda *_: None)


@pytest.mark.parametrize("fault", [no_manifests, no_record])
@pytest.mark.slow  # tests/pipelines/garbage/tables
def test_a_planted_fault_is_found(make, fault, monkeypatch):
    fault(monkeypatch)
    scenario = make()
    with scenario.mark() as run:
        run.sweep()
    lost = readable(scenario.lake, "main") is None
    if not lost:
        with pytest.raises(AssertionError, match="files are gone"):
            attempt(scenario, add_dead_files)
