"""Bodies as they come in: whole, broken off, slow, too long, and through the queue to a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid, Truncated
from anabranch.server.incoming import Incoming
from anabranch.server.inflow import Inflow

GONE = {"type": "http.disconnect"}


def events(*bodies: bytes, last: bool = True) -> list[dict[str, Any]]:
    more = [True] * (len(bodies) - 1) + [not last]
    return [
        {"type": "http.request", "body": body, "more_body": more_body}
        for body, more_body in zip(bodies, more, strict=True)
    ]


def receiver(items: Iterable[dict[str, Any]]) -> Callable[[], Awaitable[dict[str, Any]]]:
    left = iter(items)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        for item in left:
            return item
        await asyncio.Event().wait()
        raise AssertionError

    return receive


async def begun(items: Iterable[dict[str, Any]], **options: Any) -> Incoming:
    incoming = Incoming(receiver(items), **options)
    await incoming()
    return incoming


@given(st.lists(st.binary(max_size=5), min_size=1))
def test_a_whole_body_is_whole(bodies):
    async def scenario() -> bytes:
        return await (await begun(events(*bodies))).whole(1000)

    assert asyncio.run(scenario()) == b"".join(bodies)


def test_a_small_body_is_complete_at_once():
    async def scenario() -> None:
        incoming = await begun(events(b"tea"))
        assert incoming.complete
        assert incoming.taken() == b"tea"

    asyncio.run(scenario())


def test_a_body_that_breaks_off_is_truncated():
    async def scenario() -> None:
        incoming = await begun([*events(b"a", b"b", last=False), GONE])
        with pytest.raises(Truncated):
            await incoming.whole(1000)

    asyncio.run(scenario())


def test_a_body_that_stops_coming_is_truncated():
    async def scenario() -> None:
        incoming = await begun(events(b"a", last=False), idle_seconds=0.01)
        with pytest.raises(Truncated, match="no byte"):
            await incoming.whole(1000)

    asyncio.run(scenario())


def test_a_body_that_is_too_long_is_refused_before_it_ends():
    async def scenario() -> None:
        incoming = await begun(events(*[b"x" * 10] * 5, last=False))
        with pytest.raises(Invalid) as caught:
            await incoming.whole(45)
        assert caught.value.kind == "body_too_large"

    asyncio.run(scenario())


@pytest.mark.parametrize("length", [0, 1, 3, 400])
@pytest.mark.parametrize("bodies", [(b"te",), (b"t", b"e"), (b"te", b"")])
def test_a_body_of_another_length_than_its_head_says_is_truncated(bodies, length):
    """Whatever the server made of the request: nothing that reads a body gets its end."""

    async def whole() -> bytes:
        return await (await begun(events(*bodies), length=length)).whole(1000)

    async def at_once() -> bytes:
        incoming = await begun(events(*bodies), length=length)
        while not incoming.complete:
            await incoming.more()
        return incoming.taken()

    async def on_a_thread() -> list[bytes]:
        return await through_a_thread(await begun(events(*bodies), length=length), list)

    for scenario in (whole, at_once, on_a_thread):
        with pytest.raises(Truncated, match=f"has 2 bytes, its Content-Length is {length}"):
            asyncio.run(scenario())


@pytest.mark.parametrize("length", [2, None])
def test_a_body_of_the_length_that_its_head_says_is_whole(length):
    async def scenario() -> bytes:
        return await (await begun(events(b"t", b"e"), length=length)).whole(1000)

    assert asyncio.run(scenario()) == b"te"


async def through_a_thread(
    incoming: Incoming, use: Callable[[Inflow], Any], limit: int = 16, piece: int = 1
) -> Any:
    inflow = Inflow(incoming, limit=limit, piece=piece)
    pump = asyncio.ensure_future(inflow.pump())
    try:
        return await asyncio.get_running_loop().run_in_executor(None, use, inflow)
    finally:
        pump.cancel()


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=50), st.integers(1, 100))
def test_the_thread_gets_every_byte_in_order(bodies, piece):
    async def scenario() -> list[bytes]:
        return await through_a_thread(await begun(events(*bodies)), list, piece=piece)

    pieces = asyncio.run(scenario())
    assert b"".join(pieces) == b"".join(bodies)
    assert all(len(each) >= piece for each in pieces[1:-1])


def test_the_thread_is_told_of_a_break_after_what_came_before_it():
    received: list[bytes] = []

    async def scenario() -> None:
        incoming = await begun([*events(b"a", b"b", last=False), GONE])
        with pytest.raises(Truncated):
            await through_a_thread(incoming, received.extend)

    asyncio.run(scenario())
    assert b"".join(received) == b"ab"


def test_no_more_is_taken_than_the_queue_holds():
    taken = 0
    resume = threading.Event()

    def endless() -> Iterable[dict[str, Any]]:
        nonlocal taken
        for event in events(*[b"x" * 10] * 100):
            taken += 10
            yield event

    def use(inflow: Inflow) -> int:
        resume.wait(60)
        return sum(len(chunk) for chunk in inflow)

    async def scenario() -> int:
        inflow = through_a_thread(await begun(endless()), use, limit=50)
        task = asyncio.ensure_future(inflow)
        await asyncio.sleep(0.1)
        assert taken <= 60
        resume.set()
        return await task

    assert asyncio.run(scenario()) == 1000


def test_a_thread_that_has_enough_leaves_the_rest():
    def first(inflow: Inflow) -> bytes:
        return next(iter(inflow))

    async def scenario() -> bytes:
        incoming = await begun(events(*[b"x" * 10] * 100))
        return await through_a_thread(incoming, first, limit=20)

    assert asyncio.run(scenario()) == b"x" * 10


def test_a_pump_that_is_cancelled_releases_the_thread():
    def use(inflow: Inflow) -> None:
        with pytest.raises(asyncio.CancelledError):
            list(inflow)

    async def scenario() -> None:
        inflow = Inflow(await begun(events(b"a", last=False)))
        pump = asyncio.ensure_future(inflow.pump())
        thread = asyncio.get_running_loop().run_in_executor(None, use, inflow)
        await asyncio.sleep(0.05)
        pump.cancel()
        started = time.monotonic()
        await thread
        assert time.monotonic() - started < 30

    asyncio.run(scenario())
