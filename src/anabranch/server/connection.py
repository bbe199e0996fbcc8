"""A connection: uvicorn's, with requests read here, and with a shorter way for those that need
nothing but their head, or a small body.

Such an answer is there before anything is awaited, or is told by a call once another thread has it.
It is written in one piece, without a task, events of ASGI, or a second look at its headers, which
together cost as much as the answer itself. All others go uvicorn's way from where they are.

A plain request that comes in one piece, as most do, is read in one go; `request_reader.py` reads
all others. Requests are read one at a time: what a client sends behind one waits until that one
has its response.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast
from urllib.parse import unquote

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from anabranch import _kernel as kernel
from anabranch.server.connection_limits import ConnectionLimits
from anabranch.server.edge import BEGUN, Edge
from anabranch.server.exchange import Exchange
from anabranch.server.head import Head
from anabranch.server.incoming import IDLE_SECONDS
from anabranch.server.later import Later
from anabranch.server.refusal import refusal
from anabranch.server.reply import CLOSE, Reply, Rest
from anabranch.server.request_reader import RequestReader

__all__ = ["Connection"]

_LONGEST_COPIED = 16 << 10
"""The longest body that is copied behind the head of its answer, in bytes."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RETRY = (b"retry-after", b"1")
_REASONS = {408: "slow_head", 431: "head_too_large"}
_LINGER_SECONDS = 1.0
_MAX_LINGER_BYTES = 1 << 20
"""How long, and for how many bytes, a refused client is listened to, so that it reads the reason
before its connection is reset.
"""


class _Flow(FlowControl):
    """uvicorn's flow control, in which nothing is read while requests wait that were received."""

    holding = False

    def resume_reading(self) -> None:
        if not self.holding:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """A connection of HTTP/1.1 to the `Edge` of its configuration."""

    flow: _Flow
    _begun_whole: Reply | Later | Rest | None = None
    """How a request goes on that was read whole and has begun, but is not answered here."""
    _answered = False
    """Whether the request that is coming in has its answer already."""
    _exchange: Exchange | None = None
    """The request that is coming in, if it will be answered once its small body is there."""
    _waiting = b""
    """What was received behind the request that is being answered, from `_waiting_from` on."""
    _waiting_from = 0
    _refused = False
    """Whether the client has sent what is not a request: whatever else it sends is discarded."""
    _discarded = 0
    _is_stopping = False
    _host = ""
    """The client's address."""
    _is_proxy = False
    """Whether the client is a trusted proxy."""
    _began = 0.0
    """When the connection began, by the loop's time."""
    _idle_since = 0.0
    """When the last answer was sent, or else the connection began, by the loop's time."""
    _head_began = 0.0
    """When the first part of an unfinished head arrived, by the loop's time."""
    _received = 0.0
    """When a part of a request arrived that was not whole, by the loop's time."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits or ConnectionLimits()
        self.parser = cast("Any", None)
        self._reader = RequestReader()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins the connection, or refuses it where there are too many."""
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._began = self._idle_since = self.loop.time()
        self._host = self.client[0] if self.client else ""
        self._is_proxy = self._limits.trust(self._host)
        if self._limits.admit(self, self._host):
            self._look_again(self._limits.head_timeout)
            return
        self._refused = True
        transport.write(
            refusal(503, "too many connections", [*self.server_state.default_headers, _RETRY])
        )
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the connection."""
        self._waiting = b""
        self._limits.release(self, self._host)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent."""
        if self._refused:
            self._discard(data)
        elif self._waiting:
            self._hold(self._waiting[self._waiting_from :] + data, 0)
        elif not self._reader.between:
            self._read(data, 0)
        elif not self._may_answer():
            self._hold(data, 0)
        elif not self._answer_whole(data):
            self._read(data, 0)

    def on_head(self, head: kernel.RequestHead) -> None:
        """Answers the request, or begins to, or hands it on."""
        begun, self._begun_whole = self._begun_whole, None
        self._answered = False
        if begun is None:
            begun = self._begin(head.method, head.path, head.query, head.headers)
            if self._answer(head, begun):
                return
        self._start_cycle(head, begun)

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the request's body, which nobody wants once it is answered."""
        if self._exchange is not None:
            self._exchange.body += body
        elif not (self._answered or self.cycle.response_complete):
            self.cycle.body += body
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Ends a request."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.start()
        elif not (self._answered or self.cycle.response_complete):
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Goes on after a response that was sent uvicorn's way."""
        super().on_response_complete()
        self._idle_since = self.loop.time()
        self._go_on_soon()

    def resume_writing(self) -> None:
        """Goes on once the client has read what was sent."""
        super().resume_writing()
        self._go_on_soon()

    def idle_since(self) -> float | None:
        """Returns when the connection last had a request answered, or began, by the loop's time;
        None while it answers one. Until a small body has arrived, nothing is being answered.
        """
        return None if self._is_busy() and self._exchange is None else self._idle_since

    def evict(self) -> None:
        """Closes the connection at once."""
        self.transport.abort()

    def shutdown(self) -> None:
        """Ends the connection once everything that was received is answered."""
        self._is_stopping = True
        if not self._waiting:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        """Ends the connection if it has been waited for long enough: it is called when that may be
        so, since requests put the time off without setting it anew.
        """
        deadline = self._deadline()
        left = self.timeout_keep_alive if deadline is None else deadline - self.loop.time()
        if left > 0:
            self._look_again(left)
        elif self._reader.in_head:
            self._refuse(408, "request head not complete in time")
        else:
            if self._idle_since == self._began:
                self._limits.note("no_request")
            super().timeout_keep_alive_handler()

    def _deadline(self) -> float | None:
        """Returns until when the client must have sent more; None while it is the server's turn."""
        if self._exchange is None and self._is_busy():
            return None
        if self._reader.in_body:
            return self._received + IDLE_SECONDS
        if self._reader.in_head:
            return self._head_began + self._limits.head_timeout
        if self._idle_since == self._began:
            return self._began + self._limits.head_timeout
        return self._idle_since + self.timeout_keep_alive

    def _look_again(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _may_answer(self) -> bool:
        return not (self._is_busy() or self.flow.write_paused or self.transport.is_closing())

    def _hold(self, data: bytes, start: int) -> None:
        """Keeps what was received until the request before it has its response."""
        self._waiting, self._waiting_from = data, start
        self.flow.holding = True
        self.flow.pause_reading()
        self._go_on_soon()

    def _go_on_soon(self) -> None:
        # not at once: of a client that sends many without waiting, the others take turns with
        # everybody else's
        if self._waiting:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._waiting or not self._may_answer():
            return
        data, self._waiting = self._waiting, b""
        self.flow.holding = False
        self.flow.resume_reading()
        self._read(data, self._waiting_from)
        if self._is_stopping:
            self.shutdown()

    def _read(self, data: bytes, start: int) -> None:
        self._received = self.loop.time()
        had_begun = self._reader.in_head
        try:
            end = self._reader.read(data, start, self)
        except kernel.MalformedRequest as fault:
            self._refuse(*fault.args)
            return
        if end < len(data):
            self._hold(data, end)
        elif self._reader.in_head and not had_begun:
            self._head_began = self._received
            self._unset_keepalive_if_required()
            self._look_again(self._limits.head_timeout)

    def _refuse(self, status: int, reason: str) -> None:
        """Ends the connection with a response to what is not a request."""
        self._refused = True
        self._limits.note(_REASONS.get(status, "malformed"))
        refused = refusal(status, reason, self.server_state.default_headers)
        if not self._reader.in_body:
            answer = refused
        elif self._exchange is not None:
            self._exchange, self.cycle = None, cast("Any", None)
            answer = refused
        elif self._answered or self.cycle.response_complete:
            answer = b""  # one response is enough
        else:
            # who reads the body gets an error, and no way to answer
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
            answer = refused
        if not self.transport.is_closing():
            self._end_with(answer)

    def _end_with(self, answer: bytes) -> None:
        """Sends the connection's last response, and closes it once the client has read that."""
        self.transport.write(answer)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.holding = False
        self.flow.resume_reading()
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _MAX_LINGER_BYTES:
            self.transport.close()

    def _start_cycle(self, head: kernel.RequestHead, begun: Reply | Later | Rest) -> None:
        """Has a request answered uvicorn's way."""
        path = unquote(head.path) if "%" in head.path else head.path
        self.scope = cast(
            "Any",
            {
                "type": "http",
                "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
                "http_version": "1.0" if head.is_1_0 else "1.1",
                "server": self.server,
                "client": self.client,
                "scheme": self.scheme,
                "method": head.method,
                "root_path": self.root_path,
                "path": path,
                "raw_path": head.path.encode("latin-1"),
                "query_string": head.query.encode("latin-1"),
                "headers": head.pairs,
                "state": self.app_state.copy(),
                BEGUN: begun,
            },
        )
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=head.expects_continue,
            keep_alive=head.keep_alive,
            on_response=self.on_response_complete,
        )
        self._start_asgi_task(self.cycle, self.app)

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
            self.cycle = cast("Any", exchange)
            exchange.start()
            return True
        if isinstance(begun, Reply) and self._write(begun, keep=True, bodiless=bodiless):
            return True
        self._begun_whole = begun
        return False

    def _answer(self, head: kernel.RequestHead, begun: Reply | Later | Rest) -> bool:
        """Answers the request whose head is there, or begins to, and returns whether it did."""
        bodiless = head.method == "HEAD"
        if isinstance(begun, Later) and not begun.may_go_on:
            self._exchange = Exchange(
                begun, self._finish, keep_alive=head.keep_alive, bodiless=bodiless
            )
            self._exchange.body = bytearray()
            self.cycle = cast("Any", self._exchange)
            if head.expects_continue:
                self.transport.write(_CONTINUE)
            return True
        # who waits with a body, and is not asked for it, may send anything next
        keep = head.keep_alive and not head.expects_continue
        self._answered = isinstance(begun, Reply) and self._write(
            begun, keep=keep, bodiless=bodiless
        )
        return self._answered

    def _begin(
        self, method: str, raw_path: str, query: str, headers: dict[str, str]
    ) -> Reply | Later | Rest:
        scheme = _forwarded_scheme(headers) if self._is_proxy else None
        scheme = scheme or self.scheme or "http"
        head = Head.sent(method, raw_path, query, headers, scheme=scheme, client=self._host)
        return cast("Edge", self.config.app).begin(head)

    def _finish(self, exchange: Exchange, reply: Reply | Rest | None) -> None:
        """Sends the answer of an exchange, of which nothing stays, or goes on with it."""
        if cast("Any", self.cycle) is exchange:
            self.cycle = cast("Any", None)
        if self.transport.is_closing():
            return
        if reply is not None and not isinstance(reply, Reply):
            self._begun_whole = reply
            self._read(exchange.sent, 0)
        elif reply is None or not self._write(
            reply, keep=exchange.keep_alive, bodiless=exchange.bodiless
        ):
            self.transport.close()
        else:
            self._go_on_soon()

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
        self.server_state.total_requests += 1
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._look_again(self.timeout_keep_alive)
        return True


def _forwarded_scheme(headers: dict[str, str]) -> str | None:
    """Returns the scheme that a trusted proxy says its client used; None if it does not say."""
    forwarded = headers.get("x-forwarded-proto")
    if forwarded is None:
        return None
    # the last one is the proxy's own, whatever its client sent
    return "https" if forwarded.rpartition(",")[2].strip().lower() == "https" else "http"
