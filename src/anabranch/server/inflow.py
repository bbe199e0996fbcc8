"""A body on its way from the event loop to the thread that uses it, through a bounded queue.

The loop stops taking from the connection when the thread falls behind, so that a fast client
costs no more memory than a slow one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator

from anabranch.server.incoming import Incoming

__all__ = ["Inflow"]

LIMIT = 1024 * 1024
PIECE = 512 * 1024


class Inflow:
    """The thread iterates over it; the loop runs `pump`. Iterating gives what was there first,
    then pieces of at least `piece` bytes and the rest; it ends with the body, and raises what broke
    it off. About `limit` bytes wait for the thread at most.
    """

    def __init__(self, incoming: Incoming, *, limit: int = LIMIT, piece: int = PIECE) -> None:
        self._incoming = incoming
        self._piece = piece
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._changed = threading.Condition()
        self._chunks: deque[bytes] = deque()
        self._waiting = 0  # bytes in the queue
        self._ended = False
        self._error: BaseException | None = None

    async def pump(self) -> None:
        """Brings the body to the thread, until its end or until cancelled."""
        try:
            await self._put(self._incoming.taken())
            while not self._incoming.complete:
                await self._put(await self._gathered())
        except BaseException as error:
            self._finish(error)
            if isinstance(error, Exception):
                return
            raise
        self._finish(None)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._changed:
                while not self._chunks and not self._ended:
                    self._changed.wait()
                if not self._chunks:
                    break
                chunk = self._chunks.popleft()
                full = self._waiting >= self._limit
                self._waiting -= len(chunk)
                if full and self._waiting < self._limit:
                    self._loop.call_soon_threadsafe(self._room.set)
            yield chunk
        if self._error is not None:
            raise self._error

    async def _gathered(self) -> bytes:
        """Returns so much of the body that it is worth waking the thread, which costs as much as
        reading from the connection does.
        """
        parts: list[bytes] = []
        size = 0
        while size < self._piece and not self._incoming.complete:
            parts.append(await self._incoming.more())
            size += len(parts[-1])
        return b"".join(parts)

    async def _put(self, chunk: bytes) -> None:
        if not chunk:
            return
        with self._changed:
            self._chunks.append(chunk)
            self._waiting += len(chunk)
            full = self._waiting >= self._limit
            self._room.clear()
            self._changed.notify()
        if full:
            await self._room.wait()

    def _finish(self, error: BaseException | None) -> None:
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify()
