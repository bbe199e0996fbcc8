"""Pull requests that a change merges which is made while the one before it is being written."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.eventually import eventually

from anabranch.errors import Busy
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyStore


class HeldWrite:
    """Holds the first write of one thread until it is released, which then fails if it shall."""

    def __init__(self):
        self.thread = None
        self.began, self.released = threading.Event(), threading.Event()
        self.fails = False

    def __call__(self, operation, _subject):
        if operation == "apply" and threading.get_ident() == self.thread:
            self.thread = None
            self.began.set()
            assert self.released.wait(30)
            if self.fails:
                raise Busy("the disk is full", kind="disk_full")

    def end(self, *, fails):
        self.fails = fails
        self.released.set()


@pytest.fixture
def held():
    return HeldWrite()


@pytest.fixture
def lake(tmp_path, clock, held):
    """A lake whose `main` has the commit of `work`, and an earlier one."""
    with lake_in(tmp_path, clock, FaultyStore(MemoryStore(), held)) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "work", "main")
        lake.objects.upload("sea", "work", "a", [b"a"])
        lake.commits.commit("sea", "work", message="m", committer="ada")
        lake.refs.merge("sea", "work", "main", committer="ada")
        yield lake


def merge(lake):
    lake.refs.merge("sea", "work", "main", committer="ada")


def reset(lake):
    lake.branches.hard_reset("sea", "main", "work")


@pytest.mark.parametrize("change", [merge, reset])
@pytest.mark.parametrize("fails", [False, True])
def test_a_source_that_a_reset_under_way_takes_away_is_merged_by_the_next_change(
    lake, held, change, fails
):
    pull = lake.pulls.create("sea", title="t", source="work", destination="main", author="ada").id

    def take_away():
        held.thread = threading.get_ident()
        lake.branches.hard_reset("sea", "main", "main~1")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(take_away)
        assert held.began.wait(30)
        second = pool.submit(change, lake)
        key = lake.core.repositories.get("sea").partition, "main"
        moves = lake.core.committer._moves
        eventually(lambda: len(moves.last(key).under_way()) == 2)
        held.end(fails=fails)
        errors = [type(each.exception(30)) for each in (first, second)]
    found = lake.pulls.get("sea", pull)
    if fails:  # `main` has had the source all the time
        assert errors[0] is Busy
        assert found.status == "open"
    else:
        assert errors == [type(None)] * 2
        assert (found.status, found.merged_commit_id) == (
            "merged",
            lake.branches.get("sea", "main").commit_id,
        )
