"""A connection: uvicorn's, with a shorter way for requests that need nothing but their head, or a
small body.

Such an answer is there before anything is awaited, or is told by a call once another thread has it.
It is written in one piece, without a task, events of ASGI, or a second look at its headers, which
together cost as much as the answer itself. All others go uvicorn's way from where they are.

A plain request that comes in one piece, as most do, is read in one go, too; the parser that calls
back for each of its parts is left to those that come in pieces, one behind another, or with
anything that changes how the connection goes on.
"""

from __future__ import annotations

from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from anabranch import _kernel as kernel
from anabranch.server.edge import BEGUN, Edge
from anabranch.server.exchange import Exchange
from anabranch.server.head import Head
from anabranch.server.incoming import IDLE_SECONDS
from anabranch.server.later import Later
from anabranch.server.reply import CLOSE, Reply, Rest
from anabranch.signing.request import joined_headers

__all__ = ["Connection"]

_LONGEST_COPIED = 16 << 10
"""The longest body that is copied behind the head of its answer, in bytes."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A connection of HTTP/1.1 to the `Edge` of its configuration."""

    _between = True
    """Whether the parser has seen the end of all requests whose beginning it has seen."""
    _begun_whole: Reply | Later | Rest | None = None
    """How a request goes on that was read whole and has begun, but is not answered here."""
    _answered = False
    """Whether the request that is coming in has its answer already."""
    _exchange: Exchange | None = None
    """The request that is coming in, if it will be answered once its small body is there."""
    _had_its_turn = False
    """Whether a request of the bytes that came last was answered the short way: of a client that
    sends many without waiting, the others take turns with everybody else's.
    """
    _idle_since = 0.0
    """When the last answer was sent here, by the loop's time."""

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent."""
        self._had_its_turn = False
        if self._between and self._may_answer() and self._answer_whole(data):
            return
        super().data_received(data)
        self._begun_whole = None
        if self._exchange is not None and not self.transport.is_closing():
            # more of its body is to come, and that soon
            self.timeout_keep_alive_task = self.loop.call_later(
                IDLE_SECONDS, self.timeout_keep_alive_handler
            )

    def on_message_begin(self) -> None:
        """Begins a request."""
        self._between = self._answered = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answers the request, or begins to, or hands it on."""
        begun, self._begun_whole = self._begun_whole, None
        if begun is not None:
            cast("dict[str, Any]", self.scope)[BEGUN] = begun
        elif self._may_answer() and not self.parser.should_upgrade() and self._answer():
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the request's body, which nobody wants once it is answered."""
        if self._exchange is not None:
            self._exchange.body += body
        elif not self._answered:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends a request."""
        self._between = True
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.start()
        elif not self._answered:
            super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Ends the connection if nothing has come in for long: it is called when that may be so,
        for requests that are answered here put the time off without setting it anew.
        """
        if self._exchange is None:
            busy = self.cycle is not None and not self.cycle.response_complete
            left = self._idle_since + self.timeout_keep_alive - self.loop.time()
            if busy or left > 0:
                self._look_again(self.timeout_keep_alive if busy else left)
                return
        super().timeout_keep_alive_handler()

    def _look_again(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _may_answer(self) -> bool:
        return not (
            self._had_its_turn
            or (self.cycle is not None and not self.cycle.response_complete)
            or self.flow.write_paused
            or self.transport.is_closing()
        )

    def _answer_whole(self, data: bytes) -> bool:
        """Answers what came in, or begins to, and returns True, if it is a request that can be
        answered here; if it is one that cannot, that has begun.
        """
        request = kernel.whole_request(data)
        if request is None:
            return False
        method, raw_path, query, headers, body = request
        begun = self._begin(method, raw_path, query, headers)
        bodiless = method == "HEAD"
        if isinstance(begun, Later):
            exchange = Exchange(begun, self._finish, keep_alive=True, bodiless=bodiless)
            exchange.body = body
            if begun.may_go_on:
                exchange.sent = data
                self.flow.pause_reading()  # what comes after it must wait for its turn
            self.cycle = cast("Any", exchange)
            exchange.start()
            return True
        if isinstance(begun, Reply) and self._write(begun, keep=True, bodiless=bodiless):
            return True
        self._begun_whole = begun
        return False

    def _answer(self) -> bool:
        """Answers the request whose head is there, or begins to, and returns True; or leaves in
        its scope how it goes on.
        """
        url = httptools.parse_url(self.url)
        method = self.parser.get_method().decode("ascii")
        query = b"" if url.query is None else url.query
        headers = joined_headers(self.headers)
        begun = self._begin(method, url.path.decode("ascii"), query.decode("ascii"), headers)
        keep = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
        bodiless = method == "HEAD"
        if isinstance(begun, Later) and not begun.may_go_on:
            self._exchange = Exchange(begun, self._finish, keep_alive=keep, bodiless=bodiless)
            self.cycle = cast("Any", self._exchange)
            if self.expect_100_continue:
                self.transport.write(_CONTINUE)
            return True
        self._answered = isinstance(begun, Reply) and self._write(
            begun, keep=keep, bodiless=bodiless
        )
        if not self._answered:
            cast("dict[str, Any]", self.scope)[BEGUN] = begun
        return self._answered

    def _begin(
        self, method: str, raw_path: str, query: str, headers: dict[str, str]
    ) -> Reply | Later | Rest:
        self._had_its_turn = True
        client = self.client[0] if self.client else ""
        head = Head.sent(
            method, raw_path, query, headers, scheme=self.scheme or "http", client=client
        )
        return cast("Edge", self.config.app).begin(head)

    def _finish(self, exchange: Exchange, reply: Reply | Rest | None) -> None:
        """Sends the answer of an exchange, of which nothing stays, or goes on with it."""
        if cast("Any", self.cycle) is exchange:
            self.cycle = cast("Any", None)
        if self.transport.is_closing():
            return
        if exchange.sent:
            self.flow.resume_reading()
        if reply is not None and not isinstance(reply, Reply):
            self._begun_whole = reply
            super().data_received(exchange.sent)
        elif reply is None or not self._write(
            reply, keep=exchange.keep_alive, bodiless=exchange.bodiless
        ):
            self.transport.close()

    def _write(self, reply: Reply, *, keep: bool, bodiless: bool) -> bool:
        """Sends an answer; returns whether it could be sent."""
        body = b"" if bodiless else reply.body
        is_long = len(body) > _LONGEST_COPIED
        answer = kernel.whole_answer(
            STATUS_LINE[reply.status],
            self.server_state.default_headers,
            reply.headers if keep else [*reply.headers, CLOSE],
            b"" if is_long else body,
        )
        if answer is None:
            return False
        self.transport.write(answer)
        if is_long:
            self.transport.write(body)
        if not keep or CLOSE in reply.headers:
            self.transport.close()
        if self.pipeline or self.transport.is_closing():
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self._idle_since = self.loop.time()
            if self.timeout_keep_alive_task is None:
                self._look_again(self.timeout_keep_alive)
        return True
