"""The pool of a process's connections to PostgreSQL.

A request acquires the connection that was used last, opens one if fewer than the maximum are open,
or waits until one is released. A database that takes no further connection, since it has too many
of them, serves those that are open: requests wait for one of these as long as others release some.
When the database cannot be reached, there are none: the request that finds this out fails at once,
and for a moment all others fail with the same error without trying.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from anabranch.errors import Busy
from anabranch.keyvalue.postgres.connection import Connection

__all__ = ["Pool"]

_FAILURE_CACHE_SECONDS = 0.25
_REFUSED_SECONDS = 2.0
"""How long a request waits for an open connection after no further one could be opened, and after
the last was released: the database answers as long as requests end.
"""


class Pool:
    """Holds at most `max_open` connections, at most `max_idle` of them unused, each for
    `lifetime_seconds` (0: without a limit). `timeout_seconds` is how long to wait for a connection;
    `connect` opens one and raises Busy when it cannot.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        max_open: int,
        max_idle: int,
        lifetime_seconds: float,
        timeout_seconds: float,
    ) -> None:
        self._connect = connect
        self._max_open = max_open
        self._max_idle = max_idle
        self._lifetime = lifetime_seconds or float("inf")
        self._timeout = timeout_seconds
        self._state = threading.Condition(threading.Lock())
        self._idle: list[Connection] = []
        self._open = 0
        self._closed = False
        self._failure: Busy | None = None
        self._failed_at = self._released_at = float("-inf")
        self._process = os.getpid()

    def acquire(self) -> Connection:
        """Returns a connection, which the caller must pass to `release` or `discard`. Raises Busy
        when the database cannot be reached, when all connections stay in use, and when the pool is
        closed.
        """
        if self._process != os.getpid():
            self._leave_to_parent()
        refused_at = 0.0
        while True:
            connection = self._acquire_idle()
            if connection is None:
                try:
                    return self._open_new()
                except Busy:
                    refused_at = refused_at or time.monotonic()
                    connection = self._await_idle(refused_at)
                    if connection is None:
                        raise
            if not connection.is_stale():
                return connection
            self.discard(connection)

    def release(self, connection: Connection) -> None:
        """Returns a sound connection to the pool."""
        now = time.monotonic()
        expired = now - connection.opened_at > self._lifetime
        with self._state:
            self._released_at = now
            if not (expired or self._closed or len(self._idle) >= self._max_idle):
                self._idle.append(connection)
                self._state.notify()
                return
        self.discard(connection)

    def discard(self, connection: Connection) -> None:
        """Closes a connection, which must not be used again."""
        connection.close()
        self._release_slot()

    def close(self) -> None:
        """Closes idle connections, and those in use when they are released; waits for these."""
        with self._state:
            self._closed = True
            idle, self._idle = self._idle, []
            self._state.notify_all()
        for connection in idle:
            self.discard(connection)
        with self._state:
            self._state.wait_for(lambda: not self._open, self._timeout)

    def _acquire_idle(self) -> Connection | None:
        """Returns an idle connection, or None after reserving a slot for a new one."""
        deadline = 0.0
        with self._state:
            while not self._closed:
                if self._idle:
                    return self._idle.pop()
                if self._open < self._max_open:
                    self._open += 1
                    return None
                now = time.monotonic()
                deadline = deadline or now + self._timeout
                if now >= deadline:
                    raise Busy(
                        f"all {self._max_open} connections to the database stay in use",
                        kind="connections_in_use",
                        hint="Try again later, or raise database.postgres.max_open_connections.",
                    )
                self._state.wait(deadline - now)
        raise Busy("the store is closed", kind="closed")

    def _open_new(self) -> Connection:
        failure = self._failure
        if failure is not None and time.monotonic() - self._failed_at < _FAILURE_CACHE_SECONDS:
            self._release_slot()
            raise Busy(failure.message, kind=failure.kind, hint=failure.hint)
        try:
            return self._connect()
        except BaseException as error:
            if isinstance(error, Busy):
                self._failure, self._failed_at = error, time.monotonic()
            self._release_slot()
            raise

    def _await_idle(self, refused_at: float) -> Connection | None:
        """Waits for an idle connection and returns it; returns None if none is released any more,
        or none is open that could be.
        """
        with self._state:
            while self._open and not (self._idle or self._closed):
                latest = max(refused_at, self._released_at)
                end = min(latest + _REFUSED_SECONDS, refused_at + self._timeout)
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self._state.wait(left)
            return self._idle.pop() if self._idle else None

    def _release_slot(self) -> None:
        with self._state:
            self._open -= 1
            self._state.notify_all()

    def _leave_to_parent(self) -> None:
        """In a forked process: drops the parent's connections, which libpq then leaves open."""
        self._state = threading.Condition(threading.Lock())
        self._idle, self._open = [], 0
        self._process = os.getpid()
