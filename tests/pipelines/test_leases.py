"""Leases: commits that a running job reads keep their objects, or the job fails."""

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
from anabranch.model.retention import RetentionRules
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


def passing(_operation, _subject):
    """Lets every step pass."""


def expire_head(lake):
    """Replaces main's head by a commit without its objects, long ago: it has expired at once."""
    for path in PATHS:
        lake.objects.delete("sea", "main", path)
    put(lake, "other")
    lake.commits.commit("sea", "main", message="m", committer="c", date=LONG_AGO + 1)


def prepare(lake, namespace):
    """Makes a repository whose head has objects; returns the head's id."""
    lake.repositories.create("sea", namespace)
    lake.garbage_rules.set("sea", RetentionRules(1))
    for path in PATHS:
        put(lake, path, body=path.encode())
    return lake.commits.commit("sea", "main", message="m", committer="c", date=LONG_AGO).id


class Sea:
    """A lake in memory with a repository whose head has objects."""

    def __init__(self, folder):
        self.clock = Clock()
        self.keyvalue = FaultyStore(MemoryStore(), passing)
        self.blocks = FaultyBlocks(MemoryBlocks(clock=self.clock), passing)
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
            self.lake.core, self.blocks, folder / "gc", clock=self.collectors_time
        )
        self.ahead = 0
        self.out = FolderDestination(folder / "out")

    def collectors_time(self):
        """Returns the time by the clock of a collector."""
        return self.clock() + self.ahead

    def sweep(self):
        """Sweeps all that is dead, and returns how much that was."""
        with self.collector.mark("sea", **NOW) as run:
            return run.sweep().swept.objects

    def end_pins(self):
        """Lets a collector meet pins long after they were renewed."""
        self.clock.advance(PIN_SECONDS + CLOCK_SKEW_SECONDS + 1)
        return self.sweep()

    def lease(self, seconds=1):
        return Lease(StoredPin(self.lake.core, self.repository), [self.head], seconds=seconds)

    def export(self, act):
        """Exports the head object by object, and acts after the first."""
        acts = iter([act])

        def report(_):
            next(acts, lambda: None)()

        progress = CallbackProgress(report)
        exporting = Exporter(self.lake.core, self.blocks, progress=progress, page=1)
        return exporting.export("sea", self.head, self.out)

    @property
    def pins(self):
        return list(self.keyvalue.store.scan(PINS))


@pytest.fixture
def sea(tmp_path):
    sea = Sea(tmp_path)
    with sea.lake:
        yield sea


def refusing(_operation, subject):
    """Refuses everything about pins."""
    if subject == PINS:
        raise Busy("the database cannot be reached")


def test_an_export_keeps_its_commit_however_it_expires(sea):
    def act():
        expire_head(sea.lake)
        assert sea.sweep() == 0
        assert sea.lake.core.sweeps.running()[0] == []

    done = sea.export(act)
    assert done.stored == len(PATHS)
    assert {path: sea.out.read_note(path) for path in PATHS} == {p: p.encode() for p in PATHS}
    assert sea.pins == []
    assert sea.sweep() == len(PATHS)


def test_without_its_pin_the_export_would_lose_objects(sea):
    def act():
        expire_head(sea.lake)
        for key, _ in sea.pins:  # the record is removed
            sea.keyvalue.store.apply([Write(PINS, key, None)])
        assert sea.sweep() == len(PATHS)

    with pytest.raises(Conflict) as lost:
        sea.export(act)
    assert lost.value.kind == "pin_lost"
    assert lost.value.hint
    assert isinstance(lost.value.__context__, Gone)


def test_two_exports_of_one_commit_have_a_pin_each(sea, tmp_path):
    def act():
        expire_head(sea.lake)
        again = Exporter(sea.lake.core, sea.blocks)
        second = again.export("sea", sea.head, FolderDestination(tmp_path / "second"))
        assert second.stored == len(PATHS)
        assert len(sea.pins) == 1
        assert sea.sweep() == 0

    assert sea.export(act).stored == len(PATHS)


def test_an_export_that_fails_releases_its_pin(sea):
    def act():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sea.export(act)
    assert sea.pins == []


def test_an_export_of_what_has_expired_is_refused_during_a_sweep(sea):
    expire_head(sea.lake)
    sea.lake.core.sweeps.begin("s")
    with pytest.raises(Conflict) as refused:
        sea.export(lambda: None)
    assert refused.value.kind == "commit_expired"
    assert list(sea.out.paths()) == []
    sea.lake.core.sweeps.end("s")
    assert sea.export(lambda: None).stored == len(PATHS)


@pytest.mark.parametrize("ahead", [-CLOCK_SKEW_SECONDS, 0, CLOCK_SKEW_SECONDS])
def test_the_clock_of_a_collector_is_an_hour_off(sea, ahead):
    def act():
        expire_head(sea.lake)
        sea.ahead = ahead
        sea.lake.core.pins._clock = sea.collectors_time  # as in the collector's process
        sea.clock.advance(PIN_SECONDS - 1)
        assert sea.sweep() == 0

    assert sea.export(act).stored == len(PATHS)


def test_a_lease_is_renewed_however_long_the_job_waits(sea):
    lease = sea.lease()
    for _ in range(3):
        (before,) = sea.pins
        sea.clock.advance(10)
        eventually(lambda before=before: sea.pins != [before])
    lease.check()
    lease.end()
    assert sea.pins == []


def test_a_renewal_that_fails_is_tried_again(sea):
    lease = sea.lease(seconds=600)  # its thread renews first after 200 seconds
    sea.keyvalue.before = refusing
    lease.verify()  # the pin has not ended
    lease.check()
    sea.keyvalue.before = passing
    sea.clock.advance(10)
    (before,) = sea.pins
    lease.verify()
    assert sea.pins != [before]
    lease.end()


def test_a_lease_that_cannot_be_renewed_ends(sea):
    lease = sea.lease()
    sea.keyvalue.before = refusing
    eventually(lease._is_overdue)
    with pytest.raises(Conflict, match="database cannot be reached") as lost:
        lease.check()
    assert lost.value.kind == "pin_lost"
    lease.end()  # which cannot release the pin either
    assert len(sea.pins) == 1


def test_a_job_that_was_suspended_continues_if_nothing_was_collected(sea):
    lease = sea.lease()
    sea.keyvalue.before = refusing  # stands for a process that is stopped
    eventually(lease._is_overdue)
    sea.clock.advance(10 * PIN_SECONDS)
    sea.keyvalue.before = passing
    lease.check()
    lease.end()


def test_a_job_that_was_suspended_notices_that_its_pin_has_ended(sea):
    lease = sea.lease()
    stopped = threading.get_ident()

    def others_are_stopped(_operation, subject):
        if subject == PINS and threading.get_ident() != stopped:
            raise Busy("stopped")

    sea.keyvalue.before = others_are_stopped
    eventually(lease._is_overdue)
    expire_head(sea.lake)
    assert sea.end_pins() == len(PATHS)
    with pytest.raises(Conflict) as lost:
        lease.check()
    assert lost.value.kind == "pin_lost"
    lease.end()


def test_an_unwritten_pin_fails_the_job_at_once(sea):
    sea.keyvalue.before = refusing
    with pytest.raises(Busy):
        sea.export(lambda: None)
    assert list(sea.out.paths()) == []


def test_renewal_thread_ends_with_the_job(sea):
    others = set(
        threading.enumerate()
    )  # a session of Spark that other tests share may hold commits

    def threads():
        new = set(threading.enumerate()) - others
        return [thread for thread in new if thread.name == "anabranch-lease"]

    with hold_lease(StoredPin(sea.lake.core, sea.repository), [sea.head]):
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
        here = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
        with here.mark("sea", **NOW) as run:
            assert run.sweep().swept.objects == 0
        lake.core.pins._clock = lambda: time.time() + PIN_SECONDS + CLOCK_SKEW_SECONDS + 1
        with here.mark("sea", **NOW) as run:
            assert run.sweep().swept.objects == len(PATHS)
        assert len({name for name in stored(lake, "local://sea") if name.startswith("data/")}) == 1
