"""Request bodies that are complete, truncated, slow or too long, read on the event loop and on a
thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stalls import repeated_after_stalls

from anabranch.errors import Invalid, Truncated
from anabranch.server.http.request_body import RequestBody

DISCONNECTED = Truncated("the client has disconnected")


class Client:
    """Sends a body in pieces, and pauses while the body does not accept more."""

    def __init__(
        self,
        pieces: Iterable[bytes],
        *,
        length: int | None = None,
        error: Truncated | None = None,
        stalls: bool = False,
        **options: Any,
    ) -> None:
        self.body = RequestBody(length, self._flow, **options)
        self._pieces = pieces
        self._error = error
        self._stalls = stalls
        self._may_send = asyncio.Event()
        self._may_send.set()
        self.sent = 0
        self.task = asyncio.ensure_future(self._send())

    def _flow(self, more: bool) -> None:
        if more:
            self._may_send.set()
        else:
            self._may_send.clear()

    async def _send(self) -> None:
        for piece in self._pieces:
            await self._may_send.wait()
            await asyncio.sleep(0)
            self.sent += len(piece)
            self.body.feed(piece)
        if self._error is not None:
            self.body.fail(self._error)
        elif not self._stalls:
            self.body.end()


def run(scenario: Callable[[], Any]) -> Any:
    return asyncio.run(scenario())


async def on_a_thread(client: Client, use: Callable[[RequestBody], Any]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, use, client.body)


@given(st.lists(st.binary(max_size=5)))
def test_a_complete_body_is_read_whole(pieces):
    async def scenario() -> bytes:
        return await Client(pieces).body.read(1000)

    assert run(scenario) == b"".join(pieces)


def test_an_interrupted_body_raises_truncated():
    async def scenario() -> None:
        with pytest.raises(Truncated, match="disconnected"):
            await Client([b"a", b"b"], error=DISCONNECTED).body.read(1000)

    run(scenario)


def test_a_stalled_body_raises_truncated():
    async def scenario() -> None:
        with pytest.raises(Truncated, match="no byte"):
            await Client([b"a"], stalls=True, idle_seconds=0.01).body.read(1000)

    run(scenario)


def test_a_stalled_body_raises_truncated_on_a_thread():
    async def scenario() -> None:
        client = Client([b"a"], stalls=True, idle_seconds=0.01)
        with pytest.raises(Truncated, match="no byte"):
            await on_a_thread(client, list)

    run(scenario)


@repeated_after_stalls(0.1)
def test_a_thread_keeps_waiting_while_bytes_arrive():
    async def scenario() -> list[bytes]:
        client = Client([b"a"], stalls=True, idle_seconds=0.3, piece=100)
        reading = asyncio.ensure_future(on_a_thread(client, list))
        for _ in range(5):
            await asyncio.sleep(0.1)
            client.body.feed(b"b")
        client.body.end()
        return await reading

    assert b"".join(run(scenario)) == b"abbbbb"


def test_a_body_that_is_too_long_raises_invalid_before_it_ends():
    async def scenario() -> None:
        with pytest.raises(Invalid) as caught:
            await Client([b"x" * 10] * 5, stalls=True).body.read(45)
        assert caught.value.kind == "body_too_large"

    run(scenario)


@pytest.mark.parametrize("length", [0, 1, 3, 400])
@pytest.mark.parametrize("pieces", [(b"te",), (b"t", b"e"), (b"te", b"")])
def test_a_body_whose_length_differs_from_content_length_raises_truncated(pieces, length):

    async def whole() -> bytes:
        return await Client(pieces, length=length).body.read(1000)

    async def begun() -> bytes:
        body = Client(pieces, length=length).body
        await body.begin(lambda begun: len(begun) > 2)
        return await body.read(1000)

    async def iterated() -> list[bytes]:
        return await on_a_thread(Client(pieces, length=length), list)

    for scenario in (whole, begun, iterated):
        with pytest.raises(Truncated, match=f"has 2 bytes, its Content-Length is {length}"):
            run(scenario)


@pytest.mark.parametrize("length", [2, None])
def test_a_body_with_the_length_of_its_content_length_is_read_whole(length):
    async def scenario() -> bytes:
        return await Client([b"t", b"e"], length=length).body.read(1000)

    assert run(scenario) == b"te"


@given(st.lists(st.binary(max_size=3)), st.integers(0, 20))
def test_bytes_that_were_inspected_first_are_part_of_the_body(pieces, enough):
    inspected: list[bytes] = []

    def is_enough(begun: bytes) -> bool:
        inspected.append(begun)
        return len(begun) >= enough

    async def scenario() -> bytes:
        body = Client(pieces).body
        await body.begin(is_enough)
        return await body.read(1000)

    content = run(scenario)
    assert content == b"".join(pieces)
    assert all(content.startswith(begun) for begun in inspected)
    assert [len(begun) >= enough for begun in inspected].count(True) <= 1


@given(st.lists(st.binary(max_size=30), max_size=50), st.integers(1, 100), st.integers(1, 100))
def test_a_thread_gets_every_byte_in_order(pieces, piece, limit):
    async def scenario() -> list[bytes]:
        return await on_a_thread(Client(pieces, piece=piece, max_waiting=limit), list)

    received = run(scenario)
    assert b"".join(received) == b"".join(pieces)
    assert all(len(part) >= min(piece, limit) for part in received[1:-1])


def test_a_reader_gets_received_bytes_before_the_error():
    received: list[bytes] = []

    async def scenario() -> None:
        with pytest.raises(Truncated, match="disconnected"):
            await on_a_thread(Client([b"a", b"b"], error=DISCONNECTED), received.extend)

    run(scenario)
    assert b"".join(received) == b"ab"


def test_a_client_is_paused_when_the_buffer_is_full():
    resume = threading.Event()

    def use(body: RequestBody) -> int:
        resume.wait(60)
        return sum(len(chunk) for chunk in body)

    async def scenario() -> int:
        client = Client([b"x" * 10] * 100, max_waiting=50)
        reading = asyncio.ensure_future(on_a_thread(client, use))
        for _ in range(1000):  # turns of the loop
            await asyncio.sleep(0)
        assert client.sent == 50
        resume.set()
        return await reading

    assert run(scenario) == 1000


def test_a_thread_may_stop_reading_early():
    async def scenario() -> bytes:
        client = Client([b"x" * 10] * 100, max_waiting=20)
        first = await on_a_thread(client, lambda body: next(iter(body)))
        client.body.fail(DISCONNECTED)
        client.task.cancel()
        return first

    assert run(scenario).startswith(b"x" * 10)


def test_an_error_of_the_body_wakes_the_thread_that_reads_it():
    def use(body: RequestBody) -> None:
        with pytest.raises(Truncated):
            list(body)

    async def scenario() -> None:
        client = Client([b"a"], stalls=True)
        thread = asyncio.ensure_future(on_a_thread(client, use))
        await asyncio.sleep(0.05)
        client.body.fail(DISCONNECTED)
        started = time.monotonic()
        await thread
        assert time.monotonic() - started < 30

    run(scenario)
