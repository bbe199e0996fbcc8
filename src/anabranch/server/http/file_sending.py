"""Sending of files to sockets by the kernel, which copies nothing into this process.

A thread sends for as long as the client takes the bytes, up to a few MiB at a time, so that others
get their turn. When the client is slow, the event loop waits for the socket, and no thread does.
The bytes go past the transport, so its buffer must be empty; the socket is sent to by a descriptor
of its own, which the event loop can watch beside the transport's. No thread sends any more when it
is closed, also if a stopping server cancels the response: another file may have its number then.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import threading
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from anabranch.files.deferred_pieces import DeferredPieces, SendableFile
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.spent_time import SpentTime, performed

__all__ = ["FileSink", "send_file", "taken", "watch"]

Result = TypeVar("Result")

_MIN_BYTES = 1 << 20
"""Shorter rests of files are not worth it: the buffer must drain first."""

_TURN_BYTES = 8 << 20
_PATIENCE_MS = 2
"""How long a thread waits for a client: less than another turn takes under load."""

_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class FileSink(Protocol):
    """The connection that a file is sent on."""

    def socket(self) -> int | None:
        """Returns a new descriptor of the socket, which the caller closes; None if bytes cannot go
        past the transport.
        """

    async def flush(self) -> None:
        """Waits until the transport has sent all, or the connection is lost."""

    async def wait_for(self, socket: int) -> bool:
        """Waits until a socket takes more bytes; returns whether the connection is open."""

    def abort(self) -> None:
        """Closes the connection: the client has."""


async def send_file(
    pieces: object, sink: FileSink, pool: ThreadPool, *, caller: str, spent: SpentTime
) -> int:
    """Sends what is left of pieces that are those of an open file; returns how many bytes. Fewer
    than are left if the connection is lost, and where the system cannot: then the pieces continue.
    Raises Gone if the file ends early. What it waits for is added to `spent`.
    """
    file = pieces.file if isinstance(pieces, DeferredPieces) else None
    if file is None or file.remaining < _MIN_BYTES:
        return 0
    socket = sink.socket()
    if socket is None:
        return 0
    left = file.remaining
    turns = _Turns(file, socket)
    try:
        await taken(spent, sink.flush())
        while file.remaining and await taken(spent, sink.wait_for(socket)):
            await pool.run_admitted(performed(spent, turns.take), caller=caller)
    except asyncio.CancelledError:
        turns.end()
        raise
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            sink.abort()
    finally:
        os.close(socket)
    return left - file.remaining


class _Turns:
    """Sends a file in turns, on threads."""

    def __init__(self, file: SendableFile, socket: int) -> None:
        self._file = file
        self._socket = socket
        self._sending = threading.Lock()
        self._is_over = False

    def take(self) -> None:
        """Sends until the turn ends, or the client does not take more for a moment."""
        with self._sending:
            end = max(0, self._file.remaining - _TURN_BYTES)
            writable = select.poll()
            writable.register(self._socket, select.POLLOUT)
            while not self._is_over and self._file.remaining > end:
                try:
                    self._file.send_to(self._socket, self._file.remaining - end)
                except BlockingIOError:
                    if not writable.poll(_PATIENCE_MS):
                        return

    def end(self) -> None:
        """Ends the present turn, and waits for a moment until it has ended."""
        self._is_over = True
        with self._sending:
            pass


async def taken(spent: SpentTime, waiting: Awaitable[Result]) -> Result:
    """Returns what is awaited until the client has taken bytes, which is added to its time."""
    began = time.perf_counter()
    try:
        return await waiting
    finally:
        spent.client += time.perf_counter() - began


async def watch(loop: asyncio.AbstractEventLoop, socket: int, ready: asyncio.Future[None]) -> None:
    """Waits until a socket takes more bytes, or `ready` is set."""

    def set_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_writer(socket, set_ready)
    try:
        await ready
    finally:
        loop.remove_writer(socket)
