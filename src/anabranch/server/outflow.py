"""A body on its way to the client: read piece by piece on threads, sent as fast as it is taken.

No thread is held while a slow client takes a piece, and nothing more is read for one that went
away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from anabranch.server.incoming import Incoming
from anabranch.server.workers import Workers

__all__ = ["Outflow"]


class Outflow:
    """An asynchronous iterator over pieces that are read on the workers' threads."""

    def __init__(self, pieces: Iterator[bytes], workers: Workers, incoming: Incoming) -> None:
        self._pieces = pieces
        self._workers = workers
        self._incoming = incoming
        self._gone: asyncio.Future[None] | None = None

    def __aiter__(self) -> Outflow:
        return self

    async def __anext__(self) -> bytes:
        piece = await self.next()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def first(self) -> bytes:
        """Returns the first piece. Raises Busy when too many calls wait already, unlike `next`."""
        return await self._workers.run(next, self._pieces, b"")

    async def next(self) -> bytes:
        """Returns the next piece; nothing at the end, and when the client has gone away."""
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._incoming.gone())
        elif self._gone.done():
            return b""
        return await self._workers.continue_with(next, self._pieces, b"")

    async def close(self) -> None:
        """Stops reading."""
        if self._gone is not None:
            self._gone.cancel()
        close = getattr(self._pieces, "close", None)
        if close is not None:
            await self._workers.continue_with(close)
