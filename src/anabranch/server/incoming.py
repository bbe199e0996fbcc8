"""The body of a request as it comes in, with the end told from a break.

ASGI tells of a client that went away by an event of its own, and frameworks take it for the end of
the body. Here it is an error: whoever reads a body gets all of it or Truncated. A body of another
length than its head says is an error, too, whatever received it: every upload of every gateway
comes through here or through `later.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anabranch.errors import Invalid, Truncated

__all__ = ["Event", "Incoming", "Receive", "body_length", "require_length"]

Event = dict[str, Any]
Receive = Callable[[], Awaitable[Event]]

IDLE_SECONDS = 120.0


class Incoming:
    """A request's body, of `length` bytes where that is known. The framework takes the first event
    through it, as if it were ASGI's own `receive`; what that brought is kept for the body's reader.
    """

    def __init__(
        self, receive: Receive, length: int | None = None, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._receive = receive
        self._length = length
        self._received = 0  # bytes
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
        self._first += self._taken_in(event)
        return event

    def taken(self) -> bytes:
        """Returns what has come in already, once. Raises Truncated if that is the whole body and
        has another length than it must have.
        """
        self._require_length()
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
        body = self._taken_in(event)
        self._require_length()
        return body

    async def ahead(self, enough: Callable[[bytes], bool]) -> None:
        """Takes in the body until `enough` says so of what has come, or to its end; that is then
        `taken`. It is not asked at each piece, so that small ones do not cost much.
        """
        tried = 0
        while not self.complete:
            if len(self._first) >= tried + tried // 4:
                if enough(self._first):
                    return
                tried = len(self._first)
            self._first += await self.more()

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

    def _taken_in(self, event: Event) -> bytes:
        body: bytes = event.get("body", b"")
        self._received += len(body)
        self.complete = not event.get("more_body", False)
        return body

    def _require_length(self) -> None:
        if self.complete:
            require_length(self._received, self._length)


def body_length(headers: Mapping[str, str]) -> int | None:
    """Returns the length that a request's head gives its body, in bytes; None where it tells none,
    as of a body in chunks.
    """
    length = headers.get("content-length", "")
    is_length = length.isascii() and length.isdigit() and "transfer-encoding" not in headers
    return int(length) if is_length else None


def require_length(received: int, length: int | None) -> None:
    """Raises Truncated for a body of another length than its head says."""
    if length is not None and received != length:
        raise Truncated(f"the body has {received} bytes, its Content-Length is {length}")
