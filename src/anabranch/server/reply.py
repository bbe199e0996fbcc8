"""An answer that is there whole: it can be sent in one piece."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from anabranch.server.incoming import Event

__all__ = ["Headers", "Reply", "Send"]

Headers = list[tuple[bytes, bytes]]
Send = Callable[[Event], Awaitable[None]]


class Reply(NamedTuple):
    """A status, headers, and the whole body."""

    status: int
    headers: Headers
    body: bytes

    async def send(self, send: Send) -> None:
        """Sends it the way of ASGI."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})
