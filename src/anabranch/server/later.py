"""An answer that comes later: once a small body is there, from another thread.

Whoever has the body starts it and is told the answer by a call; so a connection needs no task for
it. It also goes the way of ASGI, where one is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from anabranch.errors import AnabranchError, Busy, Truncated
from anabranch.server.incoming import Incoming, Receive, require_length
from anabranch.server.reply import Reply, Rest, Scope, Send
from anabranch.server.workers import Calls

__all__ = ["Later", "small_body_length"]

LARGEST_BODY = 64 << 10
"""The longest body that is held whole for it, in bytes."""
_MOST_DIGITS = 5

_log = logging.getLogger(__name__)


class Later(NamedTuple):
    """What is still to be done for a request: `work` answers it, given the body, as one of
    `calls`; `refuse` makes the same kind of answer of an error, and `reply` what is sent of one.
    Where it `may_go_on`, that may be a `Rest`: of an answer that comes piece by piece.
    """

    calls: Calls
    work: Callable[[bytes], Any]
    refuse: Callable[[AnabranchError], Any]
    reply: Callable[[Any], Reply | Rest]
    may_go_on: bool = False
    body_length: int = 0
    """The bytes that the body must have; any other is an error."""

    def start(self, body: bytes, done: Callable[[Reply | Rest | None], None]) -> None:
        """Begins the work; `done` is told the reply, on the event loop: None where there is none
        because something is wrong with this program, or it stops.
        """

        def ended(answer: Any, error: BaseException | None) -> None:
            if error is not None:
                _log.error("a call failed", exc_info=error)
            done(None if error is not None else self.reply(answer))

        try:
            require_length(len(body), self.body_length)
            self.calls.submit(self.work, (body,), ended)
        except (Busy, Truncated) as error:
            done(self.reply(self.refuse(error)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request the way of ASGI."""
        incoming = Incoming(receive, self.body_length)
        reply: Reply | Rest | None
        try:
            await incoming()
            body = await incoming.whole(LARGEST_BODY)
        except AnabranchError as error:
            reply = self.reply(self.refuse(error))
        else:
            future: asyncio.Future[Reply | Rest | None]
            future = asyncio.get_running_loop().create_future()
            self.start(body, future.set_result)
            reply = await asyncio.shield(future)
        if isinstance(reply, Reply):
            await reply.send(send)
        elif reply is not None:
            await reply(scope, receive, send)


def small_body_length(headers: Mapping[str, str]) -> int | None:
    """Returns the length of a request's body in bytes, 0 without one; None for a body that is not
    small, or whose length is not known before its end.
    """
    length = headers.get("content-length", "0")
    is_small = (
        length.isascii()
        and length.isdigit()
        and len(length) <= _MOST_DIGITS
        and int(length) <= LARGEST_BODY
        and "transfer-encoding" not in headers
    )
    return int(length) if is_small else None
