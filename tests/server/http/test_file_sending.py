"""Files that the kernel sends to sockets: the same bytes on both event loops, as clients please."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
import struct
import threading
import time
from pathlib import Path

import pytest
import uvicorn
import uvloop
from uvicorn.server import ServerState

from anabranch.blocks.local.range_reader import RangeReader
from anabranch.files.deferred_pieces import DeferredPieces
from anabranch.http.response import Response
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.server.http.connection import Connection
from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.exchange import Exchange
from anabranch.server.http.response_stream import send_pieces

DEADLINE = 120
MIB = 1 << 20
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sent") / "file"
    path.write_bytes(random.Random(0).randbytes(9 * MIB + 17))
    return path


class Request:
    """A request for a part of a file."""

    def headers(self, response):
        return response.all_headers([], "")


class WithoutSendfile(RangeReader):
    """A file on a system that cannot send it, from its second MiB on."""

    def send_to(self, socket, amount):
        if self.remaining < 8 * MIB:
            raise OSError(errno.EINVAL, "not supported")
        return super().send_to(socket, min(amount, MIB // 2))


class Dispatcher:
    """Responds to `GET /START-LENGTH` with bytes of a file, by a pool of one thread."""

    def __init__(self, path, reader=RangeReader):
        self._path = path
        self._reader = reader
        self._pool = ThreadPool("test", threads=1, waiting=100)
        self.requests = 0
        self.exchange = None
        self.completed_with = []

    def dispatch(self, head, length, **_):
        self.requests += 1
        self.exchange = exchange = Exchange(head, Request(), length, "", 0.0)
        start, size = map(int, head.raw_path[1:].split("-"))
        pieces = DeferredPieces(lambda: self._reader(str(self._path), "a", start, size))
        exchange.response = Response(200, pieces=pieces, length=size)
        return exchange

    async def stream(self, exchange, response, sink):
        return await send_pieces(exchange, response, sink, self._pool)

    def completed(self, _exchange, _status, error):
        self.completed_with.append(error)

    def close(self):
        self._pool.close()


def run(loop, dispatcher, client, *, buffer=0):
    """Runs a client, which gets the address of a server with the dispatcher. The `buffer` of its
    sockets has so many bytes.
    """

    async def both():
        listener = socket.create_server(("127.0.0.1", 0))
        if buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        config = uvicorn.Config("none", lifespan="off", log_config=None)
        listening = await asyncio.get_running_loop().create_server(
            lambda: Connection(
                config, ServerState(), {}, dispatcher=dispatcher, limits=ConnectionLimits()
            ),
            sock=listener,
        )
        async with listening, asyncio.timeout(DEADLINE):
            result = await client(*listener.getsockname())
            await until(lambda: len(dispatcher.completed_with) == dispatcher.requests)
            return result

    try:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            return runner.run(both())
    finally:
        dispatcher.close()


async def until(condition):
    while not condition():  # noqa: ASYNC110  a thread makes it true
        await asyncio.sleep(0.01)


def get(start, size):
    return f"GET /{start}-{size} HTTP/1.1\r\nHost: sea\r\n\r\n".encode()


async def body_of(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = (
        int(line.partition(b":")[2])
        for line in head.split(b"\r\n")
        if line.startswith(b"content-length")
    )
    return await reader.readexactly(length)


PARTS = [(0, 9 * MIB + 17), (0, 0), (5, MIB), (7, MIB + 1), (3, 2 * MIB), (MIB, 2 * MIB + 1)]


@pytest.mark.parametrize("reader", [RangeReader, WithoutSendfile])
@pytest.mark.parametrize("loop", LOOPS)
def test_pipelined_requests_get_the_bytes_of_the_file(file, loop, reader):
    async def client(*address):
        received, writer = await asyncio.open_connection(*address)
        writer.write(b"".join(get(*part) for part in PARTS))
        for start, size in PARTS:
            assert await body_of(received) == file.read_bytes()[start : start + size]
        writer.close()

    dispatcher = Dispatcher(file, reader)
    run(loop, dispatcher, client)
    assert dispatcher.completed_with == [None] * len(PARTS)


@pytest.mark.parametrize("loop", LOOPS)
def test_slow_clients_occupy_no_thread(file, loop):
    """There is one thread, and each of these clients has read a part only."""

    async def client(*address):
        slow = [await asyncio.open_connection(*address, limit=4096) for _ in range(5)]
        for reader, writer in slow:
            writer.write(get(0, 9 * MIB))
            await reader.readuntil(b"\r\n\r\n")
        reader, writer = await asyncio.open_connection(*address)
        for _ in range(3):
            writer.write(get(1, 9 * MIB))
            assert await body_of(reader) == file.read_bytes()[1 : 9 * MIB + 1]
        for each, _ in slow:
            assert await each.readexactly(9 * MIB) == file.read_bytes()[: 9 * MIB]
        for _, each in [*slow, (reader, writer)]:
            each.close()

    run(loop, Dispatcher(file), client)


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("loop", LOOPS)
def test_connections_that_clients_close_leave_no_descriptor(file, loop):
    async def client(*address):
        before = descriptors()
        for abort in (True, False):
            reader, writer = await asyncio.open_connection(*address, limit=4096)
            writer.write(get(0, 9 * MIB))
            await reader.readexactly(100_000)
            if abort:
                writer.transport.abort()
            else:
                writer.close()
        await until(lambda: descriptors() <= before)

    run(loop, Dispatcher(file), client)


@pytest.mark.parametrize("loop", LOOPS)
def test_clients_that_close_before_the_transport_has_sent_all_are_no_error(file, loop):
    async def client(*address):
        for abort in (True, False):
            slow = socket.socket()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(address)
            reader, writer = await asyncio.open_connection(sock=slow, limit=1024)
            writer.write(get(0, 9 * MIB))
            await reader.readexactly(100)
            if abort:
                writer.transport.abort()
            else:
                writer.close()

    dispatcher = Dispatcher(file)
    run(loop, dispatcher, client, buffer=65536)
    assert dispatcher.completed_with == [None, None]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_client_that_leaves_before_the_first_piece_is_read_is_no_error(file, loop):
    begun, gone = threading.Event(), threading.Event()

    class Slow(RangeReader):
        def __next__(self):
            begun.set()
            assert gone.wait(DEADLINE), "the client has not left"
            return super().__next__()

    async def client(*address):
        _, writer = await asyncio.open_connection(*address)
        writer.write(get(0, MIB))
        await until(begun.is_set)
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()
        await until(lambda: dispatcher.exchange.is_cut_off)
        gone.set()

    dispatcher = Dispatcher(file, Slow)
    run(loop, dispatcher, client)
    assert dispatcher.completed_with == [None]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_file_that_ends_early_closes_the_connection(tmp_path, loop):
    path = Path(tmp_path, "short")
    path.write_bytes(bytes(6 * MIB))

    class Shortened(RangeReader):
        def send_to(self, socket, amount):
            os.truncate(path, 3 * MIB)
            return super().send_to(socket, min(amount, MIB))

    async def client(*address):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(get(0, 6 * MIB))
        await reader.readuntil(b"\r\n\r\n")
        received = await reader.read()
        writer.close()
        return received

    dispatcher = Dispatcher(path, Shortened)
    assert len(run(loop, dispatcher, client)) <= 3 * MIB
    assert [getattr(error, "kind", "") for error in dispatcher.completed_with] == ["data_missing"]


@pytest.mark.parametrize("loop", LOOPS)
def test_no_thread_sends_to_a_descriptor_that_is_closed(file, loop):
    """A stopping server cancels responses; another file may have the number of the socket next."""
    begun, used, broken = threading.Event(), [], []

    class Slow(RangeReader):
        def send_to(self, descriptor, amount):
            begun.set()
            time.sleep(0.2)  # the response is cancelled meanwhile
            try:
                used.append(os.fstat(descriptor))
            except OSError as error:
                broken.append(error)
            return super().send_to(descriptor, min(amount, MIB))

    dispatcher = Dispatcher(file, Slow)

    async def client(*address):
        _, writer = await asyncio.open_connection(*address)
        writer.write(get(0, 9 * MIB))
        await until(begun.is_set)
        (response,) = (
            task
            for task in asyncio.all_tasks()
            if getattr(task.get_coro(), "__name__", "") == "_send_pieces"
        )
        response.cancel()
        await asyncio.wait([response])
        writer.close()
        dispatcher.requests = 0  # it is not completed

    run(loop, dispatcher, client)
    assert (len(used), broken) == (1, [])
