"""The body of a request as it comes in, with the end told from a break.

ASGI tells of a client that went away by an event of its own, and frameworks take it for the end of
the body. Here it is an error: whoever reads a body gets all of it or Truncated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from anabranch.errors import Invalid, Truncated

__all__ = ["Event", "Incoming", "Receive"]

Event = dict[str, Any]
Receive = Callable[[], Awaitable[Event]]

IDLE_SECONDS = 120.0


class Incoming:
    """A request's body. The framework takes the first event through it, as if it were ASGI's own
    `receive`; what that brought is kept for whoever wants the body.
    """

    def __init__(self, receive: Receive, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._receive = receive
        self._idle_seconds = idle_seconds
        self._first = b""
        self.begun = False
        """Whether any of the body was asked for."""
        self.complete = False
        """Whether nothing of the body is still to come."""

    async def __call__(self) -> Event:
        """Returns the next event as it is."""
        self.begun = True
        event = await self._receive()
        self._first += event.get("body", b"")
        self.complete = not event.get("more_body", False)
        return event

    def taken(self) -> bytes:
        """Returns what has come in already, once."""
        first, self._first = self._first, b""
        return first

    async def more(self) -> bytes:
        """Returns what comes in next. Raises Truncated if nothing does."""
        try:
            async with asyncio.timeout(self._idle_seconds):
                event = await self._receive()
        except TimeoutError:
            raise Truncated(
                f"no byte of the body came for {self._idle_seconds:.0f} seconds", kind="idle"
            ) from None
        if event["type"] == "http.disconnect":
            raise Truncated("the connection broke off in the middle of the body")
        self.complete = not event.get("more_body", False)
        body: bytes = event.get("body", b"")
        return body

    async def whole(self, limit: int) -> bytes:
        """Returns the whole body, of at most `limit` bytes. Raises Invalid for a longer one."""
        parts = [self.taken()]
        length = len(parts[0])
        while not self.complete and length <= limit:
            parts.append(await self.more())
            length += len(parts[-1])
        if length > limit:
            raise Invalid(
                f"request body has an error: longer than {limit} bytes", kind="body_too_large"
            )
        return b"".join(parts)

    async def gone(self) -> None:
        """Returns when the client has gone away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
