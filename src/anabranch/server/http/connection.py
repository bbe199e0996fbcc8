"""An HTTP/1.1 connection: receives requests, passes them to the dispatcher, sends the responses.

A plain request that arrives in one piece, as most do, is parsed by the kernel in one go; all others
are read by `request_reader.py`, one head and one body at a time. Bytes after a request are kept
until the response was sent. A response without pieces is written at once, without a
task; a body that arrives slowly, and a response in pieces, have a task each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from anabranch import _kernel as kernel
from anabranch.errors import Truncated
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.dispatcher import Dispatcher
from anabranch.server.http.exchange import Exchange
from anabranch.server.http.limited_connection import LimitedConnection
from anabranch.server.http.rejection import STATUS_LINES, rejection
from anabranch.server.http.request_body import RequestBody

__all__ = ["Connection"]

_LONGEST_COPIED = 16 << 10
"""The longest body that is copied behind the head of its response, in bytes."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE = ("connection", "close")
_REASONS = {408: "slow_head", 431: "head_too_large"}


class Connection(LimitedConnection):
    """A connection whose requests `dispatcher` takes."""

    _exchange: Exchange | None = None
    """The request that is under way."""
    _collected = bytearray()
    """What has arrived of its body, while that is awaited whole."""
    _stream: RequestBody | None = None
    """Its body, if the work has begun before all of it is there."""
    _waiting = b""
    """What was received behind the request under way, from `_waiting_from` on."""
    _waiting_from = 0
    _is_stopping = False

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        dispatcher: Dispatcher,
        limits: ConnectionLimits | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop, limits=limits)
        self._dispatcher = dispatcher

    def data_received(self, data: bytes) -> None:
        """Receives bytes of the client."""
        if self._rejected:
            self._discard(data)
        elif self._waiting:
            self._hold(self._waiting[self._waiting_from :] + data, 0)
        elif not self._reader.between:
            self._read(data, 0)
        elif not self._may_dispatch():
            self._hold(data, 0)
        elif not self._dispatch_whole(data):
            self._read(data, 0)

    def on_head(self, head: kernel.RequestHead) -> None:
        """Dispatches a request whose head is there."""
        arrived = head.length == 0 and not head.expects_continue
        exchange = self._dispatcher.dispatch(
            self._head(head.method, head.path, head.query, head.headers),
            head.length,
            arrived=arrived,
            awaits_continue=head.expects_continue,
        )
        exchange.keep_alive = head.keep_alive
        self._exchange = exchange
        if exchange.response is not None:
            self._respond(exchange, exchange.response)
        elif exchange.takes_body_first:
            self._is_collecting = True
            self._collected = bytearray()
            self._ask(exchange)
        else:
            self._stream = RequestBody(head.length, self._let_read)
            self._spawn(self._serve(exchange, self._stream))

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the request's body, which is dropped once there is a response."""
        if self._is_collecting:
            self._collected += body
        elif self._stream is not None:
            self._stream.feed(body)

    def on_message_complete(self) -> None:
        """Ends a request."""
        if self._is_collecting and self._exchange is not None:
            self._is_collecting = False
            body, self._collected = bytes(self._collected), bytearray()
            self._dispatcher.start(self._exchange, body, partial(self._respond, self._exchange))
        elif self._stream is not None:
            self._stream.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the connection, and what is under way on it."""
        self._waiting = b""
        if self._exchange is not None:
            self._exchange.is_cut_off = True
        if self._stream is not None:
            self._stream.fail(Truncated("the connection broke off in the middle of the body"))
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Continues once the client has read what was sent."""
        super().resume_writing()
        self._go_on_soon()

    def shutdown(self) -> None:
        """Ends the connection once everything that was received has its response."""
        self._is_stopping = True
        if self._waiting:
            return
        if self._exchange is None:
            self.transport.close()
        else:
            self._exchange.keep_alive = False

    def send_first(self, exchange: Exchange, response: Response, body: bytes) -> None:
        """Sends the head of a response and the available part of its body. Raises ValueError for a
        header of more than one line.
        """
        self._send(exchange, *self._serialize(exchange, response, body))

    def _serialize(
        self, exchange: Exchange, response: Response, body: bytes
    ) -> tuple[bytes, bytes]:
        """Returns the head of a response, with its body if that is short, and the body if not."""
        keep = exchange.keep_alive and not exchange.awaits_continue
        headers = exchange.request.headers(response)
        if not keep:
            # a client that waits with a body, and is not asked for it, may send anything next
            headers.append(_CLOSE)
            exchange.keep_alive = False
        if exchange.head.method == "HEAD":
            body = b""
        is_long = len(body) > _LONGEST_COPIED
        head = kernel.whole_answer(
            STATUS_LINES[response.status],
            self.server_state.default_headers,
            headers,
            b"" if is_long else body,
        )
        if head is None:
            raise ValueError("a header of the response is no single line")
        return head, body if is_long else b""

    def _send(self, exchange: Exchange, head: bytes, body: bytes) -> None:
        exchange.is_begun = True
        self.transport.write(head)
        if body:
            self.transport.write(body)

    async def send_more(self, body: bytes) -> None:
        """Sends more of the body, once the client has taken most of what was sent before."""
        await self._drain()
        if body and not self.transport.is_closing():
            self.transport.write(body)

    def _is_busy(self) -> bool:
        return self._exchange is not None

    def _may_dispatch(self) -> bool:
        return not (self._is_busy() or self._is_write_paused or self.transport.is_closing())

    def _dispatch_whole(self, data: bytes) -> bool:
        """Dispatches what came in, and returns True, if it is a plain request, whole."""
        request = kernel.whole_request(data)
        if request is None:
            return False
        method, raw_path, query, headers, body = request
        head = self._head(method, raw_path, query, headers)
        exchange = self._exchange = self._dispatcher.dispatch(head, len(body))
        if exchange.response is not None:
            self._respond(exchange, exchange.response)
        else:
            self._dispatcher.start(exchange, body, partial(self._respond, exchange))
        return True

    def _head(self, method: str, raw_path: str, query: str, headers: dict[str, str]) -> RequestHead:
        scheme = _forwarded_scheme(headers) if self._is_proxy else "http"
        return RequestHead.sent(method, raw_path, query, headers, scheme=scheme, client=self._host)

    def _hold(self, data: bytes, start: int) -> None:
        """Keeps what was received until the request before it has its response."""
        self._waiting, self._waiting_from = data, start
        self._is_held = True
        self._control_reading()
        self._go_on_soon()

    def _go_on_soon(self) -> None:
        # not at once: of a client that sends many without waiting, the others take turns with
        # everybody else's
        if self._waiting:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._waiting or not self._may_dispatch():
            return
        data, self._waiting = self._waiting, b""
        self._is_held = False
        self._control_reading()
        self._read(data, self._waiting_from)
        if self._is_stopping:
            self.shutdown()

    def _read(self, data: bytes, start: int) -> None:
        self._received = time.monotonic()
        had_begun = self._reader.in_head
        try:
            end = self._reader.read(data, start, self)
        except kernel.MalformedRequest as fault:
            self._reject(*fault.args)
            return
        if end < len(data):
            self._hold(data, end)
        elif self._reader.in_head and not had_begun:
            self._head_began = self._received
            self._stop_timer()
            self._look_again(self._limits.head_timeout)

    def _reject(self, status: int, reason: str) -> None:
        """Ends the connection with a response to what is not a request."""
        self._rejected = True
        self._limits.note(_REASONS.get(status, "malformed"))
        response = rejection(status, reason, self.server_state.default_headers)
        exchange = self._exchange
        if exchange is None and self._reader.in_body:
            response = b""  # one response is enough
        elif self._is_collecting:
            self._exchange, self._is_collecting = None, False
        elif exchange is not None:
            # who reads the body gets an error, and no way to respond
            exchange.is_cut_off = True
            if self._stream is not None:
                self._stream.fail(Truncated("the body is malformed"))
            if exchange.is_begun:
                self.transport.close()
        if not self.transport.is_closing():
            self._end_with(response)

    def _ask(self, exchange: Exchange) -> None:
        """Asks for the body, where the client waits for that."""
        if exchange.awaits_continue and not exchange.is_cut_off:
            exchange.awaits_continue = False
            self.transport.write(_CONTINUE)

    def _let_read(self, more: bool) -> None:
        self._is_full = not more
        self._control_reading()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.server_state.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.server_state.tasks.discard(task)
        if task.cancelled():
            self.transport.abort()

    async def _serve(self, exchange: Exchange, body: RequestBody) -> None:
        """Has a request served whose body is still arriving."""
        try:
            response = await self._dispatcher.serve(exchange, body, partial(self._ask, exchange))
        except Exception as error:  # noqa: BLE001  the client learns of it by the status
            self._break_off(exchange, error)
        else:
            self._respond(exchange, response)

    def _respond(self, exchange: Exchange, response: Response | None) -> None:
        """Sends a response; None where something is wrong with this program."""
        if response is None:
            self._break_off(exchange, None)
        elif response.pieces is not None and exchange.head.method != "HEAD":
            self._spawn(self._send_pieces(exchange, response))
        else:
            try:
                head, body = self._serialize(exchange, response, response.body)
            except ValueError as error:
                self._break_off(exchange, error)
                return
            # first, so that a client that has its response finds it in the log
            self._dispatcher.completed(exchange, response.status, response.error)
            if not (exchange.is_cut_off or self.transport.is_closing()):
                self._send(exchange, head, body)
            self._end_exchange(exchange)

    async def _send_pieces(self, exchange: Exchange, response: Response) -> None:
        try:
            sent = await self._dispatcher.stream(exchange, response, self)
        except Exception as error:  # noqa: BLE001  the client learns of it by the early end
            self._break_off(exchange, error)
            return
        if sent is not response:
            self._respond(exchange, sent)
            return
        self._dispatcher.completed(exchange, response.status, None)
        self._end_exchange(exchange)

    def _break_off(self, exchange: Exchange, error: Exception | None) -> None:
        """Ends the connection, since there is no response or not all of it."""
        self._dispatcher.completed(exchange, 500, error)
        exchange.keep_alive = False
        if not (exchange.is_begun or exchange.is_cut_off or self.transport.is_closing()):
            headers = self.server_state.default_headers
            self.transport.write(rejection(500, "Internal Server Error", headers))
        self._end_exchange(exchange)

    def _end_exchange(self, exchange: Exchange) -> None:
        """Continues with the next request, or closes the connection."""
        self._exchange = self._stream = None
        if self._rejected or self.transport.is_closing():
            return
        if not exchange.keep_alive:
            self.transport.close()
            return
        self._is_new = False
        self._idle_since = time.monotonic()
        if self._is_full:
            self._let_read(True)
        if self._timer is None:
            self._look_again(self._keep_alive_seconds)
        self._go_on_soon()


def _forwarded_scheme(headers: dict[str, str]) -> str:
    """Returns the scheme of the client's request to a trusted proxy."""
    # the last one was added by the proxy itself
    forwarded = headers.get("x-forwarded-proto", "").rpartition(",")[2]
    return "https" if forwarded.strip().lower() == "https" else "http"
