"""A connection's life: how it is admitted, how long it may be idle, and how it is rejected.

`connection.py` receives requests on it and sends their responses. Of uvicorn, whose server creates
connections, both rely on this alone: the protocol class is called with `config`, `server_state`,
`app_state` and `_loop`; a server that stops calls `shutdown` of all `server_state.connections`, and
waits until these and `server_state.tasks` are no more; `server_state.default_headers` begin every
response. None of it is documented, so `pyproject.toml` pins uvicorn's minor version.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.rejection import rejection
from anabranch.server.http.request_body import IDLE_SECONDS
from anabranch.server.http.request_reader import RequestReader

__all__ = ["LimitedConnection"]

_RETRY = (b"retry-after", b"1")
_LINGER_SECONDS = 1.0
_MAX_LINGER_BYTES = 1 << 20
"""How long, and for how many bytes, a rejected client is listened to, so that it reads the reason
before its connection is reset.
"""


class LimitedConnection(asyncio.Protocol):
    """A connection within `limits`, which may keep it out or end it."""

    transport: asyncio.Transport
    _is_collecting = False
    """Whether the body of a request is awaited whole before the work begins."""
    _rejected = False
    """Whether the client has sent an invalid request: all further bytes are discarded."""
    _discarded = 0
    _is_lost = False
    _is_held = False
    """Whether nothing is read until requests that were received have their responses."""
    _is_full = False
    """Whether nothing is read until more of the body that arrives is used."""
    _is_read_paused = False
    _is_write_paused = False
    _writable: asyncio.Future[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _host = ""
    """The client's address."""
    _is_proxy = False
    """Whether the client is a trusted proxy."""
    _is_new = True
    """Whether no request of it has had its response."""
    _idle_since = 0.0
    """When the last response was sent, or else the connection began, by `time.monotonic`."""
    _head_began = 0.0
    """When the first part of an unfinished head arrived, by `time.monotonic`."""
    _received = 0.0
    """When a part of a request arrived that was not whole, by `time.monotonic`."""

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
        """Begins the connection, or rejects it where there are too many."""
        self.transport = transport
        self.server_state.connections.add(self)  # type: ignore[arg-type]  # uvicorn names its own
        self._idle_since = time.monotonic()
        peer = transport.get_extra_info("peername")
        self._host = str(peer[0]) if peer else ""
        self._is_proxy = self._limits.trust(self._host)
        if self._limits.admit(self, self._host):
            self._look_again(self._limits.head_timeout)
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
        """Notes that the client is slow to read."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Continues once the client has read what was sent."""
        self._is_write_paused = False
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def idle_since(self) -> float | None:
        """Returns when the connection last had a request answered, or began, by `time.monotonic`;
        None while it answers one. Until a small body has arrived, nothing is being answered.
        """
        return None if self._is_busy() and not self._is_collecting else self._idle_since

    def evict(self) -> None:
        """Closes the connection at once."""
        self.transport.abort()

    def _is_busy(self) -> bool:
        raise NotImplementedError

    def _reject(self, status: int, reason: str) -> None:
        raise NotImplementedError

    async def _drain(self) -> None:
        """Waits until the client has taken most of what was sent."""
        while self._is_write_paused and not self._is_lost:
            self._writable = self.loop.create_future()
            await self._writable

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
        left = self._keep_alive_seconds if deadline is None else deadline - time.monotonic()
        if left > 0:
            self._look_again(left)
        elif self._reader.in_head:
            self._reject(408, "request head not complete in time")
        else:
            if self._is_new:
                self._limits.note("no_request")
            self.transport.close()

    def _deadline(self) -> float | None:
        """Returns until when the client must have sent more; None while it is the server's turn."""
        if self._is_busy() and not self._is_collecting:
            return None
        if self._reader.in_body:
            return self._received + IDLE_SECONDS
        if self._reader.in_head:
            return self._head_began + self._limits.head_timeout
        if self._is_new:
            return self._idle_since + self._limits.head_timeout
        return self._idle_since + self._keep_alive_seconds

    def _look_again(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_with(self, response: bytes) -> None:
        """Sends the connection's last response, and closes it once the client has read that."""
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
