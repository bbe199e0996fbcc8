"""Chores: done at once, again and again, whatever one of them raises; and what they clean."""

from __future__ import annotations

import threading

import pytest

from anabranch.catalog.housekeeping import Chore, Housekeeping
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.testing.lake import lake_in
from anabranch.versioning.cleanup import GRACE_SECONDS, discard


@pytest.mark.parametrize("error", [Busy("later"), ValueError("a fault")])
def test_a_chore_that_fails_stops_neither_itself_nor_the_others(error):
    done = {"bad": 0, "good": 0}
    enough = threading.Event()

    def bad():
        done["bad"] += 1
        raise error

    def good():
        done["good"] += 1
        if min(done.values()) >= 3:
            enough.set()

    housekeeping = Housekeeping([Chore(bad, 0.001), Chore(good, 0.001)])
    housekeeping.start()
    assert enough.wait(60)
    housekeeping.stop()
    after = dict(done)
    threading.Event().wait(0.01)
    assert done == after


def test_housekeeping_that_never_started_can_be_stopped():
    Housekeeping([]).stop()


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


def test_resets_and_deletions_let_go_of_their_staging_areas(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "x", "main")
        for branch in ("main", "x"):
            lake.objects.upload("sea", branch, "a", [b"1"])
        lake.branches.reset("sea", "main", "reset")
        lake.branches.delete("sea", "x")
        clock.advance(GRACE_SECONDS)
        assert lake.core.cleaner.clean() == 2
        assert list(lake.keyvalue.scan("cleanup-tokens")) == []


def test_what_waits_long_is_dropped_behind_thousands_that_do_not(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        old = [f"z:{number}" for number in range(3)]
        lake.keyvalue.apply([*discard(old, clock()), *(Write(token, b"k", b"v") for token in old)])
        clock.advance(GRACE_SECONDS)
        lake.keyvalue.apply(discard([f"a:{number}" for number in range(3_000)], clock()))
        assert lake.core.cleaner.clean() == 3
        assert [lake.keyvalue.get(token, b"k") for token in old] == [None] * 3
