"""Turns of the event loop and a thread that needs the interpreter, too."""

from __future__ import annotations

import asyncio
import threading

import pytest
from support.eventually import TIMEOUT_SECONDS

from anabranch.batching.scheduler import batch
from anabranch.server.execution.batch_thread import BatchThread
from anabranch.server.execution.turns import Turns


class Recorded:
    """A thread whose turns never end, unless the test says so, and which notes the waits."""

    def __init__(self):
        self.is_busy = True
        self.has_ended = False
        self.uses_waits = True
        self.used = 0.0
        self.waits = []

    def used_seconds(self):
        return self.used

    def await_turn(self, seconds):
        self.waits.append(seconds)
        self.used += seconds if self.uses_waits else 0.0
        return self.has_ended


class Loop:
    """An event loop that works for as long as the test says."""

    def __init__(self, thread):
        self.used = 0.0
        self.turns = Turns(thread, lambda: self.used)
        self.turns.end(for_thread=False)  # from now on it counts

    def work(self, seconds, *, for_thread=False):
        self.used += seconds
        self.turns.end(for_thread=for_thread)


@pytest.fixture
def thread():
    return Recorded()


@pytest.fixture
def loop(thread):
    return Loop(thread)


def test_the_loop_waits_as_long_as_it_has_worked(loop, thread):
    for _ in range(9):
        loop.work(0.0001)
    assert thread.waits == [pytest.approx(0.0005)]
    loop.work(0.0011)
    assert thread.waits[1:] == [pytest.approx(0.0015)]


def test_its_work_for_the_thread_counts_as_the_threads(loop, thread):
    for _ in range(3):
        loop.work(0.0003)
        loop.work(0.0002, for_thread=True)
    assert thread.waits == []
    loop.work(0.0003)
    assert thread.waits == [pytest.approx(0.0006)]


def test_what_the_thread_has_used_by_itself_is_not_waited_for(loop, thread):
    thread.used = 0.0003
    loop.work(0.0006)
    assert thread.waits == []
    loop.work(0.0003)
    assert thread.waits == [pytest.approx(0.0006)]


def test_a_thread_that_has_not_run_during_a_wait_is_waited_for_again(loop, thread):
    thread.uses_waits = False
    loop.work(0.0006)
    loop.work(0.0001)
    thread.uses_waits = True
    loop.work(0.0001)
    loop.work(0.0001)
    assert thread.waits == [pytest.approx(each) for each in (0.0006, 0.0007, 0.0008)]


def test_work_for_the_thread_is_no_long_credit(loop, thread):
    for _ in range(100):
        loop.work(0.001, for_thread=True)
    loop.work(0.0011)
    assert thread.waits == [pytest.approx(0.0006)]


def test_it_does_not_wait_for_an_idle_thread(loop, thread):
    loop.work(0.0004)
    thread.is_busy = False
    for _ in range(100):
        loop.work(0.01)
    assert thread.waits == []
    thread.is_busy = True
    loop.work(0.01)  # most of this was before the thread had work
    loop.work(0.0004)
    assert thread.waits == []


def test_long_work_is_not_followed_by_a_long_wait(loop, thread):
    loop.work(0.5)
    assert thread.waits == [0.002]


def test_a_turn_that_waits_for_the_disk_is_not_waited_for(loop, thread):
    thread.uses_waits = False
    for _ in range(20):
        loop.work(0.001)
    assert sum(thread.waits) == pytest.approx(0.005)
    assert thread.waits[-10:] == [0.0] * 10
    thread.has_ended = True
    loop.work(0.001)
    thread.has_ended = False
    loop.work(0.001)
    assert thread.waits[-2:] == [0.0, 0.002]


def test_a_turn_ends_when_the_disk_has_answered_though_the_calls_go_on():
    thread = BatchThread("batch", max_calls=10)
    synced, goes_on = threading.Event(), threading.Event()
    waited = threading.Event()

    def sync(items):
        waited.set()
        assert synced.wait(TIMEOUT_SECONDS)
        return items

    def call():
        batch(sync, None)
        assert goes_on.wait(TIMEOUT_SECONDS)

    async def run():
        done = asyncio.get_running_loop().create_future()
        thread.submit(call, (), lambda result, error: done.set_result((result, error)))
        await asyncio.sleep(0)  # passes the call to the thread
        assert waited.wait(TIMEOUT_SECONDS)
        assert not thread.await_turn(0.001)
        synced.set()
        assert thread.await_turn(TIMEOUT_SECONDS)
        assert not thread.await_turn(0.001)
        goes_on.set()
        assert await done == (None, None)

    try:
        asyncio.run(run())
    finally:
        synced.set()
        goes_on.set()
        thread.close()


def test_turns_of_the_batch_thread_end():
    thread = BatchThread("batch", max_calls=10)
    began, goes_on = threading.Event(), threading.Event()

    def call():
        began.set()
        assert goes_on.wait(TIMEOUT_SECONDS)

    async def run():
        done = asyncio.get_running_loop().create_future()
        assert not thread.is_busy
        thread.submit(call, (), lambda result, error: done.set_result((result, error)))
        assert thread.is_busy
        await asyncio.sleep(0)  # passes the call to the thread
        assert began.wait(TIMEOUT_SECONDS)
        assert not thread.await_turn(0.001)
        goes_on.set()
        assert thread.await_turn(TIMEOUT_SECONDS)
        assert await done == (None, None)
        assert not thread.is_busy

    try:
        asyncio.run(run())
    finally:
        goes_on.set()
        thread.close()
