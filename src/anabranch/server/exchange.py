"""An exchange: a request whose small body a connection takes whole, and its answer.

It stands where uvicorn keeps what it knows of a request under way, so that requests which follow
without waiting queue behind it and a server that stops waits for it.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.server.later import Later
from anabranch.server.reply import Reply, Rest

__all__ = ["Exchange"]


class _NoEvent:
    """What uvicorn sets when a connection is lost; nobody waits for it here."""

    def set(self) -> None:
        """Does nothing."""


class Exchange:
    """One request on its way to `later`; `finish` is called with its reply."""

    message_event = _NoEvent()

    def __init__(
        self,
        later: Later,
        finish: Callable[[Exchange, Reply | Rest | None], None],
        *,
        keep_alive: bool,
        bodiless: bool,
    ) -> None:
        self._later = later
        self._finish = finish
        self.body: bytes | bytearray = b""
        self.sent = b""
        """All that the client sent of it, where that may be needed once more."""
        self.keep_alive = keep_alive
        """Whether the connection stays; uvicorn sets it when the server stops."""
        self.bodiless = bodiless
        """Whether the answer is sent without its body."""
        self.disconnected = False
        """Whether the client is gone; set by uvicorn."""
        self.response_complete = False

    def start(self) -> None:
        """Begins the work, now that the body is there."""
        self._later.start(bytes(self.body), self._done)

    def _done(self, reply: Reply | Rest | None) -> None:
        self.response_complete = True
        self._finish(self, reply)
