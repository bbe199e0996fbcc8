"""How long connections stay on which nothing happens, with a patience of a second; and that
nothing stays of a request that was answered.
"""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
import uvicorn
from support.stalls import repeated_after_stalls
from uvicorn.server import ServerState

from anabranch.http.response import Response
from anabranch.server.http.connection import Connection
from anabranch.server.http.exchange import Exchange

PATIENCE = 1
DEADLINE = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: sea\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
HALF = len(REQUEST) // 2
WHOLE, IN_PIECES = [REQUEST], [REQUEST[:HALF], REQUEST[HALF:]]


class Request:
    """A request of a page."""

    def headers(self, response):
        return response.all_headers([], "")


class Dispatcher:
    """Responds to everything: at once, or after so many seconds."""

    def __init__(self, seconds=None, response=None):
        self._seconds = seconds
        self._response = response or Response(200)
        self.completed_with = []

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


def run(dispatcher, client):
    """Runs a client, which gets the two streams of a connection to the dispatcher."""

    async def both():
        config = uvicorn.Config(
            "none", lifespan="off", log_config=None, timeout_keep_alive=PATIENCE
        )
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: Connection(config, ServerState(), {}, dispatcher=dispatcher), "127.0.0.1", 0
        )
        async with listening, asyncio.timeout(DEADLINE):
            streams = await asyncio.open_connection(*listening.sockets[0].getsockname())
            try:
                return await client(*streams)
            finally:
                streams[1].close()

    return asyncio.run(both())


async def ask(streams, pieces):
    reader, writer = streams
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.01)
    assert await reader.readexactly(len(ANSWER)) == ANSWER


@pytest.mark.parametrize("dispatcher", [Dispatcher(), Dispatcher(0)])
@repeated_after_stalls(PATIENCE / 3)
def test_requests_put_off_the_end(dispatcher):
    async def client(*streams):
        for pieces in 3 * (WHOLE, IN_PIECES):
            await ask(streams, pieces)
            await asyncio.sleep(PATIENCE / 4)
        assert await streams[0].read() == b""

    run(dispatcher, client)


@repeated_after_stalls(PATIENCE / 3)
def test_an_answer_that_takes_longer_comes():
    async def client(*streams):
        for pieces in (WHOLE, IN_PIECES):
            await ask(streams, pieces)
        assert await streams[0].read() == b""

    run(Dispatcher(1.5 * PATIENCE), client)


@pytest.mark.parametrize("pieces", [WHOLE, IN_PIECES])
def test_nothing_stays_of_a_request(pieces):
    """What is kept until the garbage is collected is kept by the thousand, bodies and all."""
    seen = []

    class Remembering(Dispatcher):
        def dispatch(self, head, length, **how):
            exchange = super().dispatch(head, length, **how)
            exchange.request = Request()
            seen.append(weakref.ref(exchange.request))
            return exchange

    async def client(*streams):
        gc.disable()
        try:
            for _ in range(3):
                await ask(streams, pieces)
        finally:
            gc.enable()
        assert [request() for request in seen] == 3 * [None]

    run(Remembering(0), client)


@pytest.mark.parametrize("header", [("etag", "a\r\nb: c"), ("etag", "a\nb")])
@pytest.mark.parametrize("seconds", [None, 0])
def test_a_response_that_cannot_be_sent_is_an_internal_error(seconds, header):
    dispatcher = Dispatcher(seconds, Response(200, headers=[header]))

    async def client(reader, writer):
        writer.write(REQUEST)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert answer.endswith(b"\r\n\r\nInternal Server Error")

    run(dispatcher, client)
    assert dispatcher.completed_with == [500]
