"""How long connections stay on which nothing happens, with a patience of a second; and that
nothing stays of a request that was answered.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial

import pytest
import uvicorn
from uvicorn.server import ServerState

from anabranch.server.connection import Connection
from anabranch.server.later import Later
from anabranch.server.reply import Reply

PATIENCE = 1
DEADLINE = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: sea\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
HALF = len(REQUEST) // 2
WHOLE, IN_PIECES = [REQUEST], [REQUEST[:HALF], REQUEST[HALF:]]


class Calls:
    """Ends a call after so many seconds."""

    def __init__(self, seconds):
        self._seconds = seconds

    def submit(self, work, arguments, ended):
        loop = asyncio.get_running_loop()
        loop.call_later(self._seconds, lambda: ended(work(*arguments), None))


class Edge:
    """Answers everything: at once, or later."""

    def __init__(self, seconds=None):
        self._seconds = seconds

    def begin(self, _scope):
        reply = Reply(200, [("content-length", "0")], b"")
        if self._seconds is None:
            return reply
        return Later(Calls(self._seconds), lambda _body: reply, lambda _error: reply, lambda it: it)


def run(edge, client):
    """Runs a client, which gets the two streams of a connection to the edge."""

    async def both():
        config = uvicorn.Config(
            edge, interface="asgi3", lifespan="off", log_config=None, timeout_keep_alive=PATIENCE
        )
        config.load()
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: Connection(config, ServerState(), {}), "127.0.0.1", 0
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


@pytest.mark.parametrize("edge", [Edge(), Edge(0)])
def test_requests_put_off_the_end(edge):
    async def client(*streams):
        for pieces in 3 * (WHOLE, IN_PIECES):
            await ask(streams, pieces)
            await asyncio.sleep(PATIENCE / 4)
        assert await streams[0].read() == b""

    run(edge, client)


def test_an_answer_that_takes_longer_comes():
    async def client(*streams):
        for pieces in (WHOLE, IN_PIECES):
            await ask(streams, pieces)
        assert await streams[0].read() == b""

    run(Edge(1.5 * PATIENCE), client)


@pytest.mark.parametrize("pieces", [WHOLE, IN_PIECES])
def test_nothing_stays_of_a_request(pieces):
    """What is kept until the garbage is collected is kept by the thousand, bodies and all."""
    heads = []

    class Remembering(Edge):
        def begin(self, head):
            later = super().begin(head)
            seen = Seen(later.work, head)
            heads.append(weakref.ref(seen))
            return later._replace(work=seen, reply=partial(told, seen))

    class Seen:
        def __init__(self, work, head):
            self.work, self.head = work, head

        def __call__(self, body):
            return self.work(body)

    def told(_, reply):
        return reply

    async def client(*streams):
        gc.disable()
        try:
            for _ in range(3):
                await ask(streams, pieces)
        finally:
            gc.enable()
        assert [head() for head in heads] == 3 * [None]

    run(Remembering(0), client)
