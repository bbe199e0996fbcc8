"""The thread pool and its limit on waiting calls."""

from __future__ import annotations

import asyncio
import threading

import pytest

from anabranch.errors import Busy
from anabranch.server.execution.thread_pool import ThreadPool


def test_beyond_the_limit_calls_are_refused_and_admitted_again_afterwards():
    release = threading.Event()

    async def scenario() -> None:
        workers = ThreadPool("test", threads=2, waiting=1)
        calls = [asyncio.ensure_future(workers.run(release.wait, 60)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await workers.run(int)
        release.set()
        assert await asyncio.gather(*calls) == [True, True, True]
        assert await workers.run(int, "7") == 7
        workers.close()

    asyncio.run(scenario())


def test_an_exception_of_a_call_is_raised_and_frees_its_slot():
    async def scenario() -> None:
        workers = ThreadPool("test", threads=1, waiting=0)
        for _ in range(3):
            with pytest.raises(ValueError, match="abc"):
                await workers.run(int, "abc")
        workers.close()

    asyncio.run(scenario())


def test_threads_are_started_as_they_are_needed_and_used_again():
    async def scenario() -> None:
        workers = ThreadPool("test", threads=4, waiting=4)
        names = {await workers.run(lambda: threading.current_thread().name) for _ in range(20)}
        assert names == {"test-0"}
        barrier = threading.Barrier(4)
        await asyncio.gather(*[workers.run(barrier.wait) for _ in range(4)])
        workers.close()

    asyncio.run(scenario())


def test_a_cancelled_call_does_not_affect_others():
    begun, release = threading.Event(), threading.Event()
    done: list[str] = []

    def work() -> None:
        begun.set()
        release.wait()

    async def scenario() -> None:
        workers = ThreadPool("test", threads=1, waiting=1)
        running = asyncio.ensure_future(workers.run(work))
        waiting = asyncio.ensure_future(workers.run(done.append, "waiting"))
        while not begun.is_set():  # noqa: ASYNC110  it is set on another thread
            await asyncio.sleep(0.001)
        running.cancel()
        waiting.cancel()
        await asyncio.wait([running, waiting])
        release.set()
        assert await workers.run(int, "7") == 7
        assert not done, "no caller waited for it when its turn came"
        workers.close()

    asyncio.run(scenario())


def test_stop_iteration_is_raised_as_a_runtime_error():
    async def scenario() -> None:
        workers = ThreadPool("test", threads=1, waiting=1)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await workers.run(next, iter(()))
        workers.close()

    asyncio.run(scenario())


def test_closing_waits_for_running_calls_and_drops_waiting_ones():
    begun, release = threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str) -> None:
        begun.set()
        release.wait()
        done.append(name)

    async def scenario() -> None:
        workers = ThreadPool("test", threads=1, waiting=2)
        calls = [asyncio.ensure_future(workers.run(work, name)) for name in "abc"]
        while not begun.is_set():  # noqa: ASYNC110  it is set on another thread
            await asyncio.sleep(0.001)
        closing = threading.Thread(target=workers.close)
        closing.start()
        while workers._queue.qsize() != 1:  # noqa: ASYNC110  the end of the only thread
            await asyncio.sleep(0.001)
        release.set()
        closing.join()
        assert done == ["a"]
        for call in calls:
            call.cancel()

    asyncio.run(scenario())


def test_a_caller_whose_calls_do_not_end_leaves_threads_to_others():
    release = threading.Event()

    async def scenario() -> None:
        workers = ThreadPool("test", threads=4, waiting=36)
        slow = [asyncio.ensure_future(workers.run(release.wait, 60, caller="a")) for _ in range(30)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await workers.run(int, caller="a")
        assert await workers.run(int, "7", caller="b") == 7
        release.set()
        assert all(await asyncio.gather(*slow))
        assert await workers.run(int, "8", caller="a") == 8
        workers.close()

    asyncio.run(scenario())


class Observed:
    """What a pool has reported."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.waiting: list[int] = []

    def call_refused(self, pool: str) -> None:
        self.refused.append(pool)

    def calls_waiting(self, pool: str, count: int) -> None:
        assert pool == "test"
        self.waiting.append(count)


def test_an_observer_learns_how_many_calls_wait_and_are_refused():
    release = threading.Event()
    observed = Observed()

    async def scenario() -> None:
        workers = ThreadPool("test", threads=1, waiting=2, observer=observed)
        calls = [asyncio.ensure_future(workers.run(release.wait, 60)) for _ in range(3)]
        await asyncio.sleep(0)
        assert observed.waiting == [1, 2]
        with pytest.raises(Busy):
            await workers.run(int)
        release.set()
        await asyncio.gather(*calls)
        workers.close()

    asyncio.run(scenario())
    assert observed.refused == ["test"]
    assert observed.waiting == [1, 2, 1, 0]
