"""A connection: uvicorn's, with a shorter way for requests that need nothing but their head, or a
small body.

Such an answer is there before anything is awaited, or is told by a call once another thread has it.
It is written in one piece, without a task, events of ASGI, or a second look at its headers, which
together cost as much as the answer itself. All others go uvicorn's way from where they are.
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from anabranch.server.edge import BEGUN, Edge
from anabranch.server.exchange import Exchange
from anabranch.server.incoming import IDLE_SECONDS
from anabranch.server.later import Later
from anabranch.server.reply import Headers, Reply

__all__ = ["Connection"]

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A connection of HTTP/1.1 to the `Edge` of its configuration."""

    _answered = False
    """Whether the request that is coming in has its answer already."""
    _exchange: Exchange | None = None
    """The request that is coming in, if it will be answered once its small body is there."""
    _had_its_turn = False
    """Whether a request of the bytes that came last was answered the short way: of a client that
    sends many without waiting, the others take turns with everybody else's.
    """

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent."""
        self._had_its_turn = False
        super().data_received(data)
        if self._exchange is not None and not self.transport.is_closing():
            # more of its body is to come, and that soon
            self.timeout_keep_alive_task = self.loop.call_later(
                IDLE_SECONDS, self.timeout_keep_alive_handler
            )

    def on_message_begin(self) -> None:
        """Begins a request."""
        self._answered = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answers the request, or begins to, or hands it on."""
        if not (self._may_answer() and self._answer()):
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the request's body, which nobody wants once it is answered."""
        if self._exchange is not None:
            self._exchange.body += body
        elif not self._answered:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends a request."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.start()
        elif not self._answered:
            super().on_message_complete()

    def _may_answer(self) -> bool:
        return not (
            self._had_its_turn
            or (self.cycle is not None and not self.cycle.response_complete)
            or self.flow.write_paused
            or self.transport.is_closing()
            or self.parser.should_upgrade()
        )

    def _answer(self) -> bool:
        """Answers the request, or begins to, and returns True; or leaves in its scope how it goes
        on.
        """
        self._had_its_turn = True
        scope = cast("dict[str, Any]", self.scope)
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        scope[BEGUN] = begun = cast("Edge", self.config.app).begin(scope)
        keep = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
        if isinstance(begun, Later):
            self._exchange = Exchange(
                begun, self._finish, keep_alive=keep, bodiless=scope["method"] == "HEAD"
            )
            self.cycle = cast("Any", self._exchange)
            if self.expect_100_continue:
                self.transport.write(_CONTINUE)
            return True
        if not isinstance(begun, Reply):
            return False
        self._answered = self._write(begun, keep=keep, bodiless=scope["method"] == "HEAD")
        return self._answered

    def _finish(self, exchange: Exchange, reply: Reply | None) -> None:
        """Sends the answer of an exchange."""
        if self.transport.is_closing():
            return
        if reply is None or not self._write(
            reply, keep=exchange.keep_alive, bodiless=exchange.bodiless
        ):
            self.transport.close()

    def _write(self, reply: Reply, *, keep: bool, bodiless: bool) -> bool:
        """Sends an answer; returns whether it could be sent."""
        headers = self.server_state.default_headers + reply.headers
        if not keep:
            headers.append((b"connection", b"close"))
        head = _head(reply.status, headers)
        if head is None:
            return False
        self.transport.write(head if bodiless else head + reply.body)
        if not keep or (b"connection", b"close") in reply.headers:
            self.transport.close()
        self.on_response_complete()
        return True


def _head(status: int, headers: Headers) -> bytes | None:
    """Returns an answer's head, or None if a header would be more than one line."""
    lines = [b"%b: %b\r\n" % pair for pair in headers]
    head = b"%b%b\r\n" % (STATUS_LINE[status], b"".join(lines))
    ends = len(lines) + 2
    return head if head.count(b"\n") == ends == head.count(b"\r") else None
