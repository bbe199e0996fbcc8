"""An answer that is there whole, so that it can be sent in one piece; and what it is sent to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from anabranch.server.incoming import Event, Receive

__all__ = ["CLOSE", "Headers", "Reply", "Rest", "Scope", "Send"]

Headers = list[tuple[str, str]]
"""Names, in any case, and values: text with a character for each byte (Latin-1)."""
CLOSE = ("connection", "close")
"""The header of an answer that is a connection's last."""

Scope = dict[str, Any]
Send = Callable[[Event], Awaitable[None]]
Rest: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[object]]
"""What is still to be done for a request, the way of ASGI."""


class Reply(NamedTuple):
    """A status, headers, and the whole body."""

    status: int
    headers: Headers
    body: bytes

    async def send(self, send: Send) -> None:
        """Sends it the way of ASGI."""
        await send(self.start())
        await send({"type": "http.response.body", "body": self.body})

    def start(self) -> Event:
        """Returns the event by which ASGI begins an answer."""
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in self.headers
        ]
        return {"type": "http.response.start", "status": self.status, "headers": headers}
