"""Periodic tasks: run repeatedly, survive errors, and the cleanups that they run."""

from __future__ import annotations

import threading

import pytest

from anabranch.catalog.tasks.periodic_tasks import PeriodicTask, PeriodicTasks
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.testing.lake import lake_in
from anabranch.versioning.staging.cleanup import GRACE_SECONDS, discard

DAY = 86_400


@pytest.mark.parametrize("error", [Busy("later"), ValueError("a fault")])
def test_failing_task_stops_no_task(error):
    done = {"bad": 0, "good": 0}
    enough = threading.Event()

    def bad():
        done["bad"] += 1
        raise error

    def good():
        done["good"] += 1
        if min(done.values()) >= 3:
            enough.set()

    tasks = PeriodicTasks([PeriodicTask(bad, 0.001), PeriodicTask(good, 0.001)])
    tasks.start()
    assert enough.wait(60)
    tasks.stop()
    after = dict(done)
    threading.Event().wait(0.01)
    assert done == after


def test_periodic_tasks_that_never_started_can_be_stopped():
    PeriodicTasks([]).stop()


def test_staging_areas_are_dropped_when_no_reader_can_name_them(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        cleaner = lake.core.cleaner
        lake.objects.upload("sea", "main", "a", [b"1"])
        token = lake.branches.get("sea", "main").staging_token
        lake.commits.commit("sea", "main", message="m", committer="ada")
        clock.advance(GRACE_SECONDS - 1)
        assert cleaner.clean() == 0
        assert lake.keyvalue.get(token, b"a") is not None
        clock.advance(1)
        assert cleaner.clean() == 1
        assert lake.keyvalue.get(token, b"a") is None
        assert cleaner.clean() == 0
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"


def test_what_resets_and_deletions_discard_is_dropped_when_it_can_no_longer_be_undone(
    tmp_path, clock
):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "x", "main")
        for branch in ("main", "x"):
            lake.objects.upload("sea", branch, "a", [b"1"])
        lake.branches.reset("sea", "main", "reset")
        lake.branches.delete("sea", "x")
        clock.advance(GRACE_SECONDS)
        assert lake.core.cleaner.clean() == 0  # both can be undone
        lake.operations.set_undo_days("sea", 1)
        clock.advance(DAY)
        lake.operations.compact()
        clock.advance(GRACE_SECONDS)
        assert lake.core.cleaner.clean() == 2
        assert list(lake.keyvalue.scan("cleanup-tokens")) == []


def test_old_staging_areas_are_dropped_behind_thousands_of_new_ones(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        old = [f"z:{number}" for number in range(3)]
        lake.keyvalue.apply([*discard(old, clock()), *(Write(token, b"k", b"v") for token in old)])
        clock.advance(GRACE_SECONDS)
        lake.keyvalue.apply(discard([f"a:{number}" for number in range(3_000)], clock()))
        assert lake.core.cleaner.clean() == 3
        assert [lake.keyvalue.get(token, b"k") for token in old] == [None] * 3
