"""A body on its way to the client: read piece by piece on threads, sent as fast as it is taken.

No thread is held while a slow client takes a piece, and nothing more is read for one that went
away. The first piece is read before the response begins, so that lost data is reported by a status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

from anabranch.errors import AnabranchError
from anabranch.server.incoming import Incoming
from anabranch.server.reply import Reply, Send
from anabranch.server.workers import Workers

__all__ = ["Outflow", "Sent", "send_in_pieces"]


class Outflow:
    """An asynchronous iterator over pieces that are read on the workers' threads."""

    def __init__(self, pieces: Iterator[bytes], workers: Workers, incoming: Incoming) -> None:
        self._pieces = pieces
        self._workers = workers
        self._incoming = incoming
        self._gone: asyncio.Future[None] | None = None
        self._first: bytes | None = None

    def __aiter__(self) -> Outflow:
        return self

    async def __anext__(self) -> bytes:
        piece = await self.next()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def begin(self) -> None:
        """Reads the first piece. Raises what reading it raises, and, unlike `next`, Busy when too
        many calls wait already.
        """
        self._first = await self._workers.run(next, self._pieces, b"")

    async def next(self) -> bytes:
        """Returns the next piece; nothing at the end, and when the client has gone away."""
        first, self._first = self._first, None
        if first is not None:
            return first
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


class Sent(NamedTuple):
    """A response as it was sent: its status, and the error that it reports, if it does."""

    status: int
    error: BaseException | None


async def send_in_pieces(
    pieces: Outflow, begin: Reply, refuse: Callable[[AnabranchError], Reply], send: Send
) -> Sent:
    """Sends `begin`, then the pieces as its body. Where the first piece cannot be read, sends what
    `refuse` makes of the error instead. Raises what breaks the body off.
    """
    try:
        await pieces.begin()
    except AnabranchError as error:
        refusal = refuse(error)
        await refusal.send(send)
        return Sent(refusal.status, error)
    else:
        await send(begin.start())
        while piece := await pieces.next():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})
        return Sent(begin.status, None)
    finally:
        await pieces.close()
