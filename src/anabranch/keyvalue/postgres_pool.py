"""The connections of a process to PostgreSQL: few, kept for the next who needs one.

Who needs a connection takes the one that was used last, opens one while there are few enough, or
waits for one to be given back. When the database cannot be reached, who finds that out says so at
once, and for a moment everybody else is told the same without trying.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from anabranch.errors import Busy
from anabranch.keyvalue.postgres_connection import Connection

__all__ = ["Pool"]

_MOMENT_SECONDS = 0.25


class Pool:
    """At most `most_open` connections, of which at most `most_idle` are kept when nobody uses
    them, each for `lifetime_seconds` (0: for ever). `patience_seconds` is how long to wait for
    one; `connect` opens one and raises Busy where it cannot.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        most_open: int,
        most_idle: int,
        lifetime_seconds: float,
        patience_seconds: float,
    ) -> None:
        self._connect = connect
        self._most_open = most_open
        self._most_idle = most_idle
        self._lifetime = lifetime_seconds or float("inf")
        self._patience = patience_seconds
        self._state = threading.Condition(threading.Lock())
        self._idle: list[Connection] = []
        self._open = 0
        self._closed = False
        self._failure: Busy | None = None
        self._failed_at = float("-inf")
        self._process = os.getpid()

    def take(self) -> Connection:
        """Returns a connection, for `give` or `discard`. Raises Busy when the database cannot be
        reached, when all connections stay in use, and when the pool is closed.
        """
        if self._process != os.getpid():
            self._leave_to_parent()
        while True:
            connection = self._idle_one()
            if connection is None:
                return self._new()
            if not connection.is_stale():
                return connection
            self.discard(connection)

    def give(self, connection: Connection) -> None:
        """Takes back a connection that is sound."""
        old = time.monotonic() - connection.born > self._lifetime
        with self._state:
            if not (old or self._closed or len(self._idle) >= self._most_idle):
                self._idle.append(connection)
                self._state.notify()
                return
        self.discard(connection)

    def discard(self, connection: Connection) -> None:
        """Closes a connection, which nobody will use again."""
        connection.close()
        self._free_place()

    def close(self) -> None:
        """Closes what is idle, and what is in use when it is given back, and waits for that."""
        with self._state:
            self._closed = True
            idle, self._idle = self._idle, []
            self._state.notify_all()
        for connection in idle:
            self.discard(connection)
        with self._state:
            self._state.wait_for(lambda: not self._open, self._patience)

    def _idle_one(self) -> Connection | None:
        """Returns an idle connection, or None for a place to put a new one into."""
        deadline = 0.0
        with self._state:
            while not self._closed:
                if self._idle:
                    return self._idle.pop()
                if self._open < self._most_open:
                    self._open += 1
                    return None
                now = time.monotonic()
                deadline = deadline or now + self._patience
                if now >= deadline:
                    raise Busy(
                        f"all {self._most_open} connections to the database stay in use",
                        kind="connections_in_use",
                        hint="Try again later, or raise database.postgres.max_open_connections.",
                    )
                self._state.wait(deadline - now)
        raise Busy("the store is closed", kind="closed")

    def _new(self) -> Connection:
        failure = self._failure
        if failure is not None and time.monotonic() - self._failed_at < _MOMENT_SECONDS:
            self._free_place()
            raise Busy(failure.message, kind=failure.kind, hint=failure.hint)
        try:
            return self._connect()
        except BaseException as error:
            if isinstance(error, Busy):
                self._failure, self._failed_at = error, time.monotonic()
            self._free_place()
            raise

    def _free_place(self) -> None:
        with self._state:
            self._open -= 1
            self._state.notify_all()

    def _leave_to_parent(self) -> None:
        """In a forked process: forgets the parent's connections, which libpq then leaves open."""
        self._state = threading.Condition(threading.Lock())
        self._idle, self._open = [], 0
        self._process = os.getpid()
