"""Lifecycle of a connection: its admission, timeouts and rejection.

`connection.py` receives requests and sends their responses. Connections are created by uvicorn's
server. Both modules depend only on these of its interfaces: the protocol class is called with
`config`, `server_state`, `app_state` and `_loop`; a stopping server calls `shutdown` of all
`server_state.connections`, and waits until these and `server_state.tasks` are empty; every response
starts with `server_state.default_headers`. These interfaces are undocumented, so `pyproject.toml`
pins uvicorn's minor version.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.file_sending import watch
from anabranch.server.http.rejection import rejection
from anabranch.server.http.request_body import IDLE_SECONDS
from anabranch.server.http.request_reader import RequestReader

__all__ = ["LimitedConnection"]

_RETRY = (b"retry-after", b"1")
_LINGER_SECONDS = 1.0
_MAX_LINGER_BYTES = 1 << 20
"""How long, and for how many bytes, data of a rejected client is read and discarded, so that the
client can read the response before its connection is reset.
"""


class LimitedConnection(asyncio.Protocol):
    """A connection that `limits` may refuse or close."""

    transport: asyncio.Transport
    _is_collecting = False
    """Whether the body of a request is buffered before the operation starts."""
    _rejected = False
    """Whether the client has sent an invalid request: all further bytes are discarded."""
    _discarded = 0
    _is_lost = False
    _is_held = False
    """Whether reading is paused until the responses to received requests were sent."""
    _is_full = False
    """Whether reading is paused until the operation has read more of the body (backpressure)."""
    _is_read_paused = False
    _is_write_paused = False
    _writable: asyncio.Future[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _host = ""
    """The client's address."""
    _is_proxy = False
    """Whether the client is a trusted proxy."""
    _is_new = True
    """Whether no response has been sent on it."""
    _idle_since = 0.0
    """Time of the last response, or else of the connection's start, by `time.monotonic`."""
    _head_began = 0.0
    """Time at which the first bytes of an incomplete head arrived, by `time.monotonic`."""
    _received = 0.0
    """Time at which bytes of an incomplete request last arrived, by `time.monotonic`."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # noqa: ARG002  uvicorn's
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self.loop = _loop or asyncio.get_running_loop()
        self.server_state = server_state
        self._keep_alive_seconds = config.timeout_keep_alive
        self._limits = limits or ConnectionLimits()
        self._reader = RequestReader()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the connection, or rejects it if there are too many."""
        self.transport = transport
        self.server_state.connections.add(self)  # type: ignore[arg-type]  # uvicorn names its own
        self._idle_since = time.monotonic()
        peer = transport.get_extra_info("peername")
        self._host = str(peer[0]) if peer else ""
        self._is_proxy = self._limits.trust(self._host)
        if self._limits.admit(self, self._host):
            self._schedule_timeout(self._limits.head_timeout)
            return
        self._rejected = True
        headers = [*self.server_state.default_headers, _RETRY]
        transport.write(rejection(503, "too many connections", headers))
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's
        """Ends the connection."""
        self._is_lost = True
        self._limits.release(self, self._host)
        self.server_state.connections.discard(self)
        self._stop_timer()
        self.resume_writing()

    def pause_writing(self) -> None:
        """Pauses responses: the write buffer is full because the client reads slowly."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Continues once the write buffer has drained."""
        self._is_write_paused = False
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def idle_since(self) -> float | None:
        """Returns the time of the last response, or of the connection's start, by `time.monotonic`;
        None while a request is being handled. A request whose small body is being received is not
        being handled yet.
        """
        return None if self._is_busy() and not self._is_collecting else self._idle_since

    def evict(self) -> None:
        """Closes the connection immediately."""
        self.transport.abort()

    def _is_busy(self) -> bool:
        raise NotImplementedError

    def _reject(self, status: int, reason: str) -> None:
        raise NotImplementedError

    async def _drain(self) -> None:
        """Waits until the write buffer has drained."""
        while self._is_write_paused and not self._is_lost:
            self._writable = self.loop.create_future()
            await self._writable

    def socket(self) -> int | None:
        """Returns a new descriptor of the socket, which the caller closes; None if the connection
        is closing.
        """
        socket = self.transport.get_extra_info("socket")
        if socket is None or self.transport.is_closing():
            return None
        return os.dup(socket.fileno())

    async def flush(self) -> None:
        """Waits until the transport has sent all, or the connection is lost."""
        self.transport.set_write_buffer_limits(high=0)
        try:
            while self.transport.get_write_buffer_size() and not self._is_lost:
                await asyncio.sleep(0)  # the event loop has sent what was queued in this turn
                await self._drain()
        finally:
            if not self.transport.is_closing():  # uvloop's has no limits any more then
                self.transport.set_write_buffer_limits()

    async def wait_for(self, socket: int) -> bool:
        """Waits until a socket takes more bytes; returns whether the connection is open."""
        if not self._is_lost:
            self._writable = self.loop.create_future()
            await watch(self.loop, socket, self._writable)
        return not (self._is_lost or self.transport.is_closing())

    def abort(self) -> None:
        """Closes the connection: the client has."""
        self.transport.abort()

    def _control_reading(self) -> None:
        pause = self._is_held or self._is_full
        if pause is self._is_read_paused or self.transport.is_closing():
            return
        self._is_read_paused = pause
        if pause:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _time_out(self) -> None:
        """Closes the connection if its deadline has passed. Requests extend the deadline without
        restarting the timer, so the timer may expire earlier.
        """
        deadline = self._deadline()
        remaining = self._keep_alive_seconds if deadline is None else deadline - time.monotonic()
        if remaining > 0:
            self._schedule_timeout(remaining)
        elif self._reader.in_head:
            self._reject(408, "request head not complete in time")
        else:
            if self._is_new:
                self._limits.note("no_request")
            self.transport.close()

    def _deadline(self) -> float | None:
        """Returns the time by which the client must send more; None while a request is handled."""
        if self._is_busy() and not self._is_collecting:
            return None
        if self._reader.in_body:
            return self._received + IDLE_SECONDS
        if self._reader.in_head:
            return self._head_began + self._limits.head_timeout
        if self._is_new:
            return self._idle_since + self._limits.head_timeout
        return self._idle_since + self._keep_alive_seconds

    def _schedule_timeout(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_with(self, response: bytes) -> None:
        """Sends the connection's last response, and closes it after a delay."""
        self.transport.write(response)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._is_held = self._is_full = False
        self._control_reading()
        self._stop_timer()
        self._timer = self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _MAX_LINGER_BYTES:
            self.transport.close()
