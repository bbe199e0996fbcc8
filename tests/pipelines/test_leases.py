"""Leases: the objects of a commit are kept while a job reads it, or the job fails with pin_lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.eventually import eventually
from support.garbage import put, stored
from support.progress import CallbackProgress

import anabranch
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, Conflict, Gone
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.jobs.leases import Lease, StoredPin, hold_lease
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from anabranch.versioning.garbage.pins import PIN_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

NOW = {"grace_seconds": -5, "window_seconds": -5}
LONG_AGO = 1_600_000_000
PATHS = ("a", "b", "c", "d")
PINS = "anabranch-pins"


def no_fault(_operation, _subject):
    """Does nothing before a step."""


def expire_head(lake):
    """Replaces main's head by a commit without its objects, with an old date, so that the head has
    expired immediately.
    """
    for path in PATHS:
        lake.objects.delete("sea", "main", path)
    put(lake, "other")
    lake.commits.commit("sea", "main", message="m", committer="c", date=LONG_AGO + 1)


def prepare(lake, namespace):
    """Creates a repository whose head has objects; returns the head's id."""
    lake.repositories.create("sea", namespace)
    lake.garbage_rules.set("sea", RetentionRules(1))
    for path in PATHS:
        put(lake, path, body=path.encode())
    return lake.commits.commit("sea", "main", message="m", committer="c", date=LONG_AGO).id


class Scenario:
    """A lake in memory with a repository whose head has objects."""

    def __init__(self, folder):
        self.clock = Clock()
        self.keyvalue = FaultyStore(MemoryStore(), no_fault)
        self.blocks = FaultyBlocks(MemoryBlocks(clock=self.clock), no_fault)
        self.lake = Lake(
            self.keyvalue,
            self.blocks,
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self.head = prepare(self.lake, "mem://sea")
        self.repository = self.lake.core.repositories.get("sea")
        self.collector = Collector(
            self.lake.core, self.blocks, folder / "gc", clock=self.collector_time
        )
        self.ahead = 0
        self.out = FolderDestination(folder / "out")

    def collector_time(self):
        """Returns the time by the clock of a collector."""
        return self.clock() + self.ahead

    def sweep(self):
        """Sweeps all dead objects, and returns their number."""
        with self.collector.mark("sea", **NOW) as run:
            return run.sweep().swept.objects

    def end_pins(self):
        """Advances the clock until pins have expired, sweeps, and returns the number of objects."""
        self.clock.advance(PIN_SECONDS + CLOCK_SKEW_SECONDS + 1)
        return self.sweep()

    def lease(self, seconds=1):
        return Lease(StoredPin(self.lake.core, self.repository), [self.head], seconds=seconds)

    def export(self, action):
        """Exports the head object by object, and runs the action after the first."""
        actions = iter([action])

        def run_action(_):
            next(actions, lambda: None)()

        progress = CallbackProgress(run_action)
        exporter = Exporter(self.lake.core, self.blocks, progress=progress, page=1)
        return exporter.export("sea", self.head, self.out)

    @property
    def pins(self):
        return list(self.keyvalue.store.scan(PINS))


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


def fail_pins(_operation, subject):
    """Fails all operations on pins."""
    if subject == PINS:
        raise Busy("the database cannot be reached")


def test_export_keeps_the_objects_of_a_commit_that_expires(scenario):
    def act():
        expire_head(scenario.lake)
        assert scenario.sweep() == 0
        assert scenario.lake.core.sweeps.running()[0] == []

    summary = scenario.export(act)
    assert summary.stored == len(PATHS)
    assert {path: scenario.out.read_note(path) for path in PATHS} == {p: p.encode() for p in PATHS}
    assert scenario.pins == []
    assert scenario.sweep() == len(PATHS)


def test_export_whose_pin_was_removed_raises_pin_lost(scenario):
    def act():
        expire_head(scenario.lake)
        for key, _ in scenario.pins:
            scenario.keyvalue.store.apply([Write(PINS, key, None)])
        assert scenario.sweep() == len(PATHS)

    with pytest.raises(Conflict) as lost:
        scenario.export(act)
    assert lost.value.kind == "pin_lost"
    assert lost.value.hint
    assert isinstance(lost.value.__context__, Gone)


def test_two_exports_of_one_commit_have_separate_pins(scenario, tmp_path):
    def act():
        expire_head(scenario.lake)
        again = Exporter(scenario.lake.core, scenario.blocks)
        second = again.export("sea", scenario.head, FolderDestination(tmp_path / "second"))
        assert second.stored == len(PATHS)
        assert len(scenario.pins) == 1
        assert scenario.sweep() == 0

    assert scenario.export(act).stored == len(PATHS)


def test_failed_export_releases_its_pin(scenario):
    def act():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scenario.export(act)
    assert scenario.pins == []


def test_export_of_an_expired_commit_raises_during_a_sweep(scenario):
    expire_head(scenario.lake)
    scenario.lake.core.sweeps.begin("s")
    with pytest.raises(Conflict) as refused:
        scenario.export(lambda: None)
    assert refused.value.kind == "commit_expired"
    assert list(scenario.out.paths()) == []
    scenario.lake.core.sweeps.end("s")
    assert scenario.export(lambda: None).stored == len(PATHS)


@pytest.mark.parametrize("ahead", [-CLOCK_SKEW_SECONDS, 0, CLOCK_SKEW_SECONDS])
def test_pin_lasts_if_the_clock_of_a_collector_is_an_hour_off(scenario, ahead):
    def act():
        expire_head(scenario.lake)
        scenario.ahead = ahead
        scenario.lake.core.pins._clock = scenario.collector_time  # as in the collector's process
        scenario.clock.advance(PIN_SECONDS - 1)
        assert scenario.sweep() == 0

    assert scenario.export(act).stored == len(PATHS)


def test_lease_is_renewed_while_the_job_waits(scenario):
    lease = scenario.lease()
    for _ in range(3):
        (before,) = scenario.pins
        scenario.clock.advance(10)
        eventually(lambda before=before: scenario.pins != [before])
    lease.check()
    lease.end()
    assert scenario.pins == []


def test_failed_renewal_is_retried(scenario):
    lease = scenario.lease(seconds=600)  # its thread renews first after 200 seconds
    scenario.keyvalue.before = fail_pins
    lease.verify()  # the pin has not expired
    lease.check()
    scenario.keyvalue.before = no_fault
    scenario.clock.advance(10)
    (before,) = scenario.pins
    lease.verify()
    assert scenario.pins != [before]
    lease.end()


def test_lease_that_cannot_be_renewed_raises_pin_lost(scenario):
    lease = scenario.lease()
    scenario.keyvalue.before = fail_pins
    eventually(lease._is_overdue)
    with pytest.raises(Conflict, match="database cannot be reached") as lost:
        lease.check()
    assert lost.value.kind == "pin_lost"
    lease.end()  # cannot release the pin either
    assert len(scenario.pins) == 1


@pytest.mark.slow
def test_suspended_job_continues_if_nothing_was_collected(scenario):
    lease = scenario.lease()
    scenario.keyvalue.before = fail_pins  # simulates a stopped process
    eventually(lease._is_overdue)
    scenario.clock.advance(10 * PIN_SECONDS)
    scenario.keyvalue.before = no_fault
    lease.check()
    lease.end()


def test_suspended_job_whose_pin_expired_raises_pin_lost(scenario):
    lease = scenario.lease()
    this_thread = threading.get_ident()

    def others_are_stopped(_operation, subject):
        if subject == PINS and threading.get_ident() != this_thread:
            raise Busy("stopped")

    scenario.keyvalue.before = others_are_stopped
    eventually(lease._is_overdue)
    expire_head(scenario.lake)
    assert scenario.end_pins() == len(PATHS)
    with pytest.raises(Conflict) as lost:
        lease.check()
    assert lost.value.kind == "pin_lost"
    lease.end()


def test_export_fails_before_copying_if_its_pin_cannot_be_written(scenario):
    scenario.keyvalue.before = fail_pins
    with pytest.raises(Busy):
        scenario.export(lambda: None)
    assert list(scenario.out.paths()) == []


def test_renewal_thread_ends_with_the_job(scenario):
    others = set(threading.enumerate())  # a shared Spark session of other tests may pin commits

    def threads():
        new = set(threading.enumerate()) - others
        return [thread for thread in new if thread.name == "anabranch-lease"]

    with hold_lease(StoredPin(scenario.lake.core, scenario.repository), [scenario.head]):
        assert threads()
    eventually(lambda: not threads())


KILLED = """
import sys, time
import anabranch
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination

class Progress:
    def begin(self, step, total):
        pass

    def advance(self, amount):
        print("begun", flush=True)
        time.sleep(600)

with anabranch.open(sys.argv[1]) as lake:
    place = FolderDestination(sys.argv[2])
    Exporter(lake.core, lake.blocks, progress=Progress(), page=1).export("sea", "main", place)
"""


@pytest.mark.slow
def test_pin_of_killed_export_expires(tmp_path):
    folder, out = tmp_path / "lake", tmp_path / "out"
    with anabranch.open(folder) as lake:
        head = prepare(lake, "local://sea")
        command = [sys.executable, "-c", KILLED, str(folder), str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as export:
            assert export.stdout.readline() == b"begun\n"
            os.kill(export.pid, signal.SIGKILL)
        expire_head(lake)
        repository = lake.core.repositories.get("sea")
        assert lake.core.pins.commits(repository) == {head}
        collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
        with collector.mark("sea", **NOW) as run:
            assert run.sweep().swept.objects == 0
        lake.core.pins._clock = lambda: time.time() + PIN_SECONDS + CLOCK_SKEW_SECONDS + 1
        with collector.mark("sea", **NOW) as run:
            assert run.sweep().swept.objects == len(PATHS)
        assert len({name for name in stored(lake, "local://sea") if name.startswith("data/")}) == 1
