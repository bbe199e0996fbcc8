"""An HTTP/1.1 connection: receives requests, passes them to the dispatcher, sends the responses.

A plain request that arrives in one piece, as most do, is parsed by the kernel in one go; all others
are read by `request_reader.py`, one head and one body at a time. Pipelined requests are buffered
until the response to the current one was sent. A response without pieces is written immediately,
without a task; a body that arrives slowly, and a response in pieces, have a task each.
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
from anabranch.http.execution import Execution
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.dispatcher import Dispatcher
from anabranch.server.http.exchange import Exchange
from anabranch.server.http.limited_connection import LimitedConnection
from anabranch.server.http.rejection import STATUS_LINES, rejection
from anabranch.server.http.request_body import RequestBody

__all__ = ["Connection"]

_MAX_COPIED_BODY = 16 << 10
"""Maximum size, in bytes, of a body that is copied into one buffer with its response's head."""
_MAX_JOINED_BODY = 512 << 10
"""The same of one that is joined to the head here. To copy a MiB takes longer than a packet."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE = ("connection", "close")
_REASONS = {408: "slow_head", 431: "head_too_large"}


class Connection(LimitedConnection):
    """A connection whose requests are handled by `dispatcher`."""

    _exchange: Exchange | None = None
    """The current request, until its response is sent."""
    _collected = bytearray()
    """The received part of its body, if the body is buffered before the operation starts."""
    _stream: RequestBody | None = None
    """Its body, if the operation starts before the body is complete."""
    _waiting = b""
    """Buffer with the bytes after the current request; they start at `_waiting_from`."""
    _waiting_from = 0
    _is_stopping = False
    _is_finished = False
    """Whether the client has closed its side of the connection, and sends no more."""

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
        """Dispatches a request whose head is complete."""
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
            self._send_continue(exchange)
        else:
            self._stream = RequestBody(head.length, self._let_read, spent=exchange.spent)
            self._spawn(self._serve(exchange, self._stream))

    def on_body(self, body: bytes) -> None:
        """Receives a part of the request's body, which is discarded if the response was sent."""
        if self._is_collecting:
            self._collected += body
        elif self._stream is not None:
            self._stream.feed(body)

    def on_message_complete(self) -> None:
        """Handles the end of a request's body."""
        if self._is_collecting and self._exchange is not None:
            self._is_collecting = False
            body, self._collected = bytes(self._collected), bytearray()
            self._dispatcher.start(self._exchange, body, partial(self._respond, self._exchange))
        elif self._stream is not None:
            self._stream.end()

    def eof_received(self) -> bool:
        """Returns whether the connection stays open, for the responses to the requests that have
        arrived whole.
        """
        self._is_finished = True
        if self._exchange is None or self._is_incomplete():
            return bool(self._waiting)
        self._exchange.is_finished = True
        self._exchange.keep_alive = bool(self._waiting)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Cleans up after the connection, and fails the current request."""
        self._waiting = b""
        if self._exchange is not None:
            self._exchange.is_cut_off = True
        if self._stream is not None:
            self._stream.fail(Truncated("the connection was closed in the middle of the body"))
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Continues once the write buffer has drained."""
        super().resume_writing()
        self._schedule_waiting()

    def shutdown(self) -> None:
        """Closes the connection after the responses to all received requests were sent."""
        self._is_stopping = True
        if self._waiting:
            return
        if self._exchange is None:
            self.transport.close()
        else:
            self._exchange.keep_alive = False

    def send_first(self, exchange: Exchange, response: Response, body: bytes) -> None:
        """Sends the head of a response and the available part of its body, unless the client has
        left. Raises ValueError for a header of more than one line.
        """
        head, body = self._serialize(exchange, response, body)
        if not (exchange.is_cut_off or self.transport.is_closing()):  # uvloop's would raise
            self._send(exchange, head, body)

    def _serialize(
        self, exchange: Exchange, response: Response, body: bytes
    ) -> tuple[bytes, bytes]:
        """Returns the head of a response, with its body if that is short, and the body if not."""
        keep = exchange.keep_alive and not exchange.awaits_continue
        headers = exchange.request.headers(response)
        if not keep:
            # a client that gets no `100 Continue` may or may not send the body next
            headers.append(_CLOSE)
            exchange.keep_alive = False
        if exchange.head.method == "HEAD":
            body = b""
        is_long = len(body) > _MAX_COPIED_BODY
        head = kernel.whole_answer(
            STATUS_LINES[response.status],
            self.server_state.default_headers,
            headers,
            b"" if is_long else body,
        )
        if head is None:
            raise ValueError("a header of the response contains a line break")
        return head, body if is_long else b""

    def _send(self, exchange: Exchange, head: bytes, body: bytes) -> None:
        exchange.is_begun = True
        # Two writes would be two packets, and the first would wake the client too early. Not by
        # `writelines`: asyncio's before Python 3.12.9 and 3.13.2 buffers without a bound for a
        # client that does not read (CVE-2024-12254), and fails after the client has left.
        is_joined = len(body) <= _MAX_JOINED_BODY
        self.transport.write(head + body if body and is_joined else head)
        if not is_joined:
            self.transport.write(body)

    async def send_more(self, body: bytes) -> None:
        """Sends more of the body, once the write buffer has drained."""
        await self._drain()
        if body and not self.transport.is_closing():
            self.transport.write(body)

    def _is_busy(self) -> bool:
        return self._exchange is not None

    def _is_incomplete(self) -> bool:
        return self._is_collecting or self._reader.in_body

    def _may_dispatch(self) -> bool:
        return not (self._is_busy() or self._is_write_paused or self.transport.is_closing())

    def _dispatch_whole(self, data: bytes) -> bool:
        """Dispatches the data and returns True if it is exactly one complete, plain request."""
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
        scheme, client = "http", self._host
        if self._is_proxy:
            scheme = _forwarded_scheme(headers)
            client = self._limits.client_of(client, headers.get("x-forwarded-for", ""))
        elif "x-forwarded-for" in headers:
            self._limits.note_untrusted(client)
        return RequestHead.sent(method, raw_path, query, headers, scheme=scheme, client=client)

    def _hold(self, data: bytes, start: int) -> None:
        """Buffers pipelined bytes until the response to the current request was sent."""
        self._waiting, self._waiting_from = data, start
        self._is_held = True
        self._control_reading()
        self._schedule_waiting()

    def _schedule_waiting(self) -> None:
        # deferred, so that a client that pipelines many requests does not delay other clients
        if self._waiting:
            self.loop.call_soon(self._process_waiting)

    def _process_waiting(self) -> None:
        if not self._waiting or not self._may_dispatch():
            return
        data, self._waiting = self._waiting, b""
        self._is_held = False
        self._control_reading()
        self._read(data, self._waiting_from)
        if self._is_stopping:
            self.shutdown()
        if self._is_finished and not self._waiting:
            if self._exchange is None or self._is_incomplete():
                self.transport.close()
            else:
                self._exchange.is_finished = True

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
            self._schedule_timeout(self._limits.head_timeout)

    def _reject(self, status: int, reason: str) -> None:
        """Sends an error response to an invalid request, and closes the connection."""
        self._rejected = True
        self._limits.note(_REASONS.get(status, "malformed"))
        response = rejection(status, reason, self.server_state.default_headers)
        exchange = self._exchange
        if exchange is None and self._reader.in_body:
            response = b""  # one response is enough
        elif self._is_collecting:
            self._exchange, self._is_collecting = None, False
        elif exchange is not None:
            # the reader of the body gets an error, and its response is not sent
            exchange.is_cut_off = True
            if self._stream is not None:
                self._stream.fail(Truncated("the body is malformed"))
            if exchange.is_begun:
                self.transport.close()
        if not self.transport.is_closing():
            self._end_with(response)

    def _send_continue(self, exchange: Exchange) -> None:
        """Sends `100 Continue` if the client waits for it."""
        if exchange.awaits_continue and not exchange.is_cut_off:
            exchange.awaits_continue = False
            self.transport.write(_CONTINUE)

    def _let_read(self, more: bool) -> None:
        self._is_full = not more
        self._control_reading()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.server_state.tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self.server_state.tasks.discard(task)
        if task.cancelled():
            self.transport.abort()

    async def _serve(self, exchange: Exchange, body: RequestBody) -> None:
        """Handles a request whose body is still arriving."""
        try:
            response = await self._dispatcher.serve(
                exchange, body, partial(self._send_continue, exchange)
            )
        except Exception as error:  # noqa: BLE001  reported to the client by the status
            self._abort_exchange(exchange, error)
        else:
            self._respond(exchange, response)

    def _respond(self, exchange: Exchange, response: Response | None) -> None:
        """Sends a response, or a 500 for None, which stands for an unexpected error."""
        if response is None:
            self._abort_exchange(exchange, None)
        elif response.pieces is not None and exchange.head.method != "HEAD":
            self._spawn(self._send_pieces(exchange, response))
        else:
            try:
                head, body = self._serialize(exchange, response, response.body)
            except ValueError as error:
                self._abort_exchange(exchange, error)
                return
            # logged first, so that the line exists when the client has received the response
            self._dispatcher.completed(exchange, response.status, response.error)
            if not (exchange.is_cut_off or self.transport.is_closing()):
                self._send(exchange, head, body)
            self._end_exchange(exchange)
            self._dispatcher.turns.end(for_thread=exchange.execution is Execution.BATCHED)

    async def _send_pieces(self, exchange: Exchange, response: Response) -> None:
        try:
            sent = await self._dispatcher.stream(exchange, response, self)
        except Exception as error:  # noqa: BLE001  the client notices the incomplete body
            self._abort_exchange(exchange, error)
            return
        if sent is not response:
            self._respond(exchange, sent)
            return
        self._dispatcher.completed(exchange, response.status, None)
        self._end_exchange(exchange)

    def _abort_exchange(self, exchange: Exchange, error: Exception | None) -> None:
        """Closes the connection after an error, with a 500 if no response was started."""
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
        if not exchange.keep_alive or (self._is_finished and not self._waiting):
            self.transport.close()
            return
        self._is_new = False
        self._idle_since = time.monotonic()
        if self._is_full:
            self._let_read(True)
        if self._timer is None:
            self._schedule_timeout(self._keep_alive_seconds)
        self._schedule_waiting()


def _forwarded_scheme(headers: dict[str, str]) -> str:
    """Returns the scheme of the client's request to a trusted proxy."""
    # the last one was added by the proxy itself
    forwarded = headers.get("x-forwarded-proto", "").rpartition(",")[2]
    return "https" if forwarded.strip().lower() == "https" else "http"
