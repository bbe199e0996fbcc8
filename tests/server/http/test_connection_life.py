"""Timeouts of idle connections, here of one second, and the memory of completed requests."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
import uvicorn
from support.session.sizes import sized
from support.stalls import repeated_after_stalls
from uvicorn.server import ServerState

from anabranch.http.response import Response
from anabranch.server.execution.batch_thread import BatchThread
from anabranch.server.execution.turns import Turns
from anabranch.server.http.connection import Connection
from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.exchange import Exchange

KEEP_ALIVE = 1
DEADLINE = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: sea\r\n\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
HALF = len(REQUEST) // 2
WHOLE, IN_PIECES = [REQUEST], [REQUEST[:HALF], REQUEST[HALF:]]


class Request:
    """A request of a page."""

    def headers(self, response):
        return response.all_headers([], "")


class Dispatcher:
    """Responds to every request, at once or after `seconds`."""

    def __init__(self, seconds=None, response=None):
        self._seconds = seconds
        self._response = response or Response(200)
        self.completed_with = []
        self.turns = Turns(BatchThread("batch", max_calls=1))

    def dispatch(self, head, length, **_):
        exchange = Exchange(head, Request(), length, "", 0.0)
        exchange.takes_body_first = True
        if self._seconds is None:
            exchange.response = self._response
        return exchange

    def start(self, _exchange, _body, done):
        asyncio.get_running_loop().call_later(self._seconds, done, self._response)

    def completed(self, _exchange, status, _error):
        self.completed_with.append(status)


def run(dispatcher, client, kind=Connection):
    """Runs a client, which gets the two streams of a connection to the dispatcher."""

    async def both():
        config = uvicorn.Config(
            "none", lifespan="off", log_config=None, timeout_keep_alive=KEEP_ALIVE
        )
        limits = ConnectionLimits(head_timeout=KEEP_ALIVE)  # the timer of a new connection
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: kind(config, ServerState(), {}, dispatcher=dispatcher, limits=limits),
            "127.0.0.1",
            0,
        )
        async with listening, asyncio.timeout(DEADLINE):
            streams = await asyncio.open_connection(*listening.sockets[0].getsockname())
            try:
                return await client(*streams)
            finally:
                streams[1].close()

    return asyncio.run(both())


async def send(streams, pieces):
    """Sends a request in pieces, and reads its response."""
    reader, writer = streams
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.01)
    assert await reader.readexactly(len(RESPONSE)) == RESPONSE


@pytest.mark.parametrize("dispatcher", [Dispatcher(), Dispatcher(0)])
@repeated_after_stalls(KEEP_ALIVE / 3)
@pytest.mark.sample(1)
def test_requests_restart_the_keep_alive_timeout(dispatcher):
    async def client(*streams):
        for pieces in sized(2, weekly=3) * (WHOLE, IN_PIECES):
            await send(streams, pieces)
            await asyncio.sleep(KEEP_ALIVE / 4)
        assert await streams[0].read() == b""

    run(dispatcher, client)


@repeated_after_stalls(KEEP_ALIVE / 3)
def test_a_response_may_take_longer_than_the_keep_alive_timeout():
    async def client(*streams):
        for pieces in (WHOLE, IN_PIECES)[: sized(1, weekly=2)]:
            await send(streams, pieces)
        assert await streams[0].read() == b""

    run(Dispatcher(1.5 * KEEP_ALIVE), client)


@pytest.mark.parametrize("pieces", [WHOLE, IN_PIECES])
def test_completed_requests_are_freed_without_garbage_collection(pieces):
    """Reference cycles would keep thousands of requests, with their bodies, until a collection."""
    seen = []

    class Recorder(Dispatcher):
        def dispatch(self, head, length, **options):
            exchange = super().dispatch(head, length, **options)
            exchange.request = Request()
            seen.append(weakref.ref(exchange.request))
            return exchange

    async def client(*streams):
        gc.disable()
        try:
            for _ in range(3):
                await send(streams, pieces)
        finally:
            gc.enable()
        assert [request() for request in seen] == 3 * [None]

    run(Recorder(0), client)


@pytest.mark.parametrize("header", [("etag", "a\r\nb: c"), ("etag", "a\nb")])
@pytest.mark.parametrize("seconds", [None, 0])
def test_a_response_that_cannot_be_sent_is_an_internal_error(seconds, header):
    dispatcher = Dispatcher(seconds, Response(200, headers=[header]))

    async def client(reader, writer):
        writer.write(REQUEST)
        response = await reader.read()
        assert response.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert response.endswith(b"\r\n\r\nInternal Server Error")

    run(dispatcher, client)
    assert dispatcher.completed_with == [500]


@pytest.mark.parametrize("value", [b"", b" ", b"\t "])
@pytest.mark.parametrize("pieces", [1, 2])
def test_an_empty_expectation_is_none(value, pieces):
    request = REQUEST.removesuffix(b"\r\n") + b"Expect:" + value + b"\r\n\r\n"

    async def client(*streams):
        await send(streams, [request] if pieces == 1 else [request[:HALF], request[HALF:]])

    run(Dispatcher(0), client)


class Finished:
    """Sends requests and half-closes the connection; reads what comes until its end."""

    def __init__(self, *pieces):
        self._pieces = pieces

    async def __call__(self, reader, writer):
        for piece in self._pieces:
            writer.write(piece)
            await asyncio.sleep(0.01)
        writer.write_eof()
        return await reader.read()


CLOSED = RESPONSE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
POST = b"POST / HTTP/1.1\r\nHost: sea\r\nContent-Length: 3\r\n\r\n"


@pytest.mark.parametrize("seconds", [None, 0, 0.05])
@pytest.mark.parametrize("pieces", [WHOLE, IN_PIECES, [POST, b"abc"], [POST + b"abc"]])
@pytest.mark.sample(4)
def test_a_client_that_half_closes_gets_its_response(pieces, seconds):
    received = run(Dispatcher(seconds), Finished(*pieces))
    assert received in (RESPONSE, CLOSED)


@pytest.mark.parametrize("seconds", [None, 0.05])
def test_a_client_that_half_closes_gets_the_responses_to_all_requests(seconds):
    dispatcher = Dispatcher(seconds)
    received = run(dispatcher, Finished(3 * REQUEST))
    assert received.count(b"HTTP/1.1 200 OK") == 3
    received = run(dispatcher, Finished(2 * REQUEST + REQUEST[:HALF]))
    assert received.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("pieces", [[], [REQUEST[:HALF]], [POST], [POST, b"ab"]])
def test_a_client_that_half_closes_within_a_request_gets_no_response(pieces):
    dispatcher = Dispatcher(0)
    assert run(dispatcher, Finished(*pieces)) == b""
    assert 200 not in dispatcher.completed_with


def test_a_request_of_a_client_that_half_closes_may_be_abandoned():
    class Patient(Dispatcher):
        """Responds once the request may be abandoned."""

        def start(self, exchange, body, done):
            if exchange.is_abandoned():
                done(self._response)
            else:
                asyncio.get_running_loop().call_later(0.01, self.start, exchange, body, done)

    dispatcher = Patient(0)
    assert run(dispatcher, Finished(REQUEST)).startswith(b"HTTP/1.1 200")
    assert dispatcher.completed_with == [200]


class Writes(asyncio.Transport):
    """Records each write, which is a system call where the socket takes it."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, data):
        self.written.append(data)

    def is_closing(self):
        return False


@pytest.mark.parametrize("size", [0, 1_000, 100_000])
def test_a_response_is_one_write(size):
    async def respond():
        config = uvicorn.Config("none", lifespan="off", log_config=None)
        dispatcher = Dispatcher(response=Response(200, bytes(size)))
        connection, writes = Connection(config, ServerState(), {}, dispatcher=dispatcher), Writes()
        connection.connection_made(writes)
        connection.data_received(REQUEST)
        connection.connection_lost(None)
        return writes.written

    [written] = asyncio.run(respond())
    assert written == b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size)


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_no_more_than_a_buffer_is_kept_for_a_client_that_does_not_read(size):
    """On the Pythons of CVE-2024-12254, `writelines` keeps all responses."""
    paused, requests = asyncio.Event(), 15_000_000 // size
    dispatcher = Dispatcher(response=Response(200, b"x" * size))

    class Observed(Connection):
        def pause_writing(self):
            super().pause_writing()
            paused.set()

    async def client(reader, writer):
        writer.transport.pause_reading()
        writer.write(requests * REQUEST)
        while not paused.is_set() and len(dispatcher.completed_with) < requests:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        answered = len(dispatcher.completed_with)
        writer.transport.resume_reading()
        for _ in range(requests):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(size)
        return answered

    assert run(dispatcher, client, Observed) < requests
    assert paused.is_set()
