"""Items that depend on one another are performed in the order in which they took their places."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.eventually import eventually

from anabranch.batching.group_commit import GroupCommit
from anabranch.batching.order import note_place, takes_place

TIMEOUT = 60


class Log:
    """What is committed, once `go` is set."""

    def __init__(self):
        self.groups, self.begun, self.go = [], threading.Event(), threading.Event()

    def commit(self, items):
        self.begun.set()
        assert self.go.wait(TIMEOUT)
        self.groups.append(list(items))
        return items


class TakenLock:
    """A lock that another process holds until `free` is set. `asked` is set when it is tried."""

    def __init__(self):
        self.asked, self.may_answer, self.free = (threading.Event() for _ in range(3))

    def try_acquire(self):
        self.asked.set()
        assert self.may_answer.wait(TIMEOUT)
        return self.free.is_set()

    def acquire(self):
        assert self.free.wait(TIMEOUT)

    def release(self):
        pass


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def submit(commits, item, place):
    with takes_place(place):
        return commits.submit(item)


def test_a_place_is_taken_before_the_commit(pool):
    log, place = Log(), threading.Event()
    commits = GroupCommit(log.commit, name="writer")
    leading = pool.submit(commits.submit, 0)
    assert log.begun.wait(TIMEOUT)
    first = pool.submit(submit, commits, 1, place)
    assert place.wait(TIMEOUT)
    second = pool.submit(commits.submit, 2)
    eventually(lambda: len(commits._waiting) == 2)
    assert not first.done()
    log.go.set()
    assert [each.result(TIMEOUT) for each in (leading, first, second)] == [0, 1, 2]
    assert log.groups == [[0], [1, 2]]
    assert commits.close()


def test_the_leader_keeps_its_place_while_another_process_holds_the_lock(pool):
    log, lock, place = Log(), TakenLock(), threading.Event()
    log.go.set()
    commits = GroupCommit(log.commit, name="writer", lock=lock)
    first = pool.submit(submit, commits, 1, place)
    assert lock.asked.wait(TIMEOUT)
    assert place.wait(TIMEOUT)
    second = pool.submit(commits.submit, 2)
    eventually(lambda: len(commits._waiting) == 1)
    lock.may_answer.set()
    eventually(lambda: len(commits._waiting) == 2)
    lock.free.set()
    assert [first.result(TIMEOUT), second.result(TIMEOUT)] == [1, 2]
    assert log.groups == [[1, 2]]
    assert commits.close()


def test_places_are_of_the_context_alone():
    place = threading.Event()
    with takes_place(place):
        pass
    note_place()
    assert not place.is_set()
