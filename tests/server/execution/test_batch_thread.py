"""A thread with a batch scheduler: what it accepts, how it reports results, and how it ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from anabranch.batching.scheduler import batch
from anabranch.errors import Busy
from anabranch.server.execution.batch_thread import BatchThread


async def ends_of(thread: BatchThread, *calls: tuple) -> list:
    """Submits calls in one turn of the loop; returns each result, and the thread on which it
    was delivered.
    """
    ends: list = [None] * len(calls)
    response = asyncio.Event()

    def ended(number, result, error):
        ends[number] = (result, error, threading.get_ident())
        if None not in ends:
            response.set()

    for number, (function, *arguments) in enumerate(calls):
        thread.submit(
            function,
            tuple(arguments),
            lambda result, error, number=number: ended(number, result, error),
        )
    await asyncio.wait_for(response.wait(), 60)
    return ends


def test_calls_of_one_loop_iteration_are_batched_and_complete_on_the_loop():
    groups = []

    def tenfold(items):
        groups.append(len(items))
        return [item * 10 for item in items]

    async def scenario() -> None:
        thread = BatchThread("test", max_calls=16)
        here = threading.get_ident()
        ends = await ends_of(thread, *[(batch, tenfold, number) for number in range(16)])
        assert ends == [(number * 10, None, here) for number in range(16)]
        thread.close()

    asyncio.run(scenario())
    assert groups == [16]


def test_beyond_the_limit_calls_are_refused_and_admitted_again_afterwards():
    release = threading.Event()

    async def scenario() -> None:
        thread = BatchThread("test", max_calls=2)
        first = asyncio.ensure_future(ends_of(thread, (release.wait, 60), (int, "7")))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            thread.submit(int, (), lambda *_: None)
        release.set()
        assert [end[0] for end in await first] == [True, 7]
        ((result, error, _),) = await ends_of(thread, (int, "abc"))
        assert result is None
        assert isinstance(error, ValueError)
        thread.close()

    asyncio.run(scenario())


def test_closing_waits_for_submitted_calls():
    begun, release = threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str) -> None:
        begun.set()
        release.wait(60)
        done.append(name)

    async def scenario() -> None:
        thread = BatchThread("test", max_calls=4)
        for name in "ab":
            thread.submit(work, (name,), lambda *_: None)
        assert await asyncio.to_thread(begun.wait, 60)
        closing = threading.Thread(target=thread.close)
        closing.start()
        release.set()
        await asyncio.to_thread(closing.join)
        assert done == ["a", "b"]

    asyncio.run(scenario())


def test_closing_an_unused_thread_returns_immediately():
    BatchThread("test", max_calls=1).close()
