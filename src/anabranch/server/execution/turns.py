"""Turns of the event loop and the batch thread.

Both need the interpreter, which one thread has at a time. A thread that gives it up for a moment,
as around each system call, gets it back only when the event loop waits for its sockets. A write has
about thirty such moments, so beside busy readers each took as long as thirty rounds of their reads.
Therefore the event loop waits, too: after work for other requests, until the batch thread has had
as much processor time, or has ended a turn. So each gets about half of the interpreter.

The loop's work counts from one request to the next: an operation takes less than half of that, the
rest is receiving, parsing and sending. What the loop does for calls of the batch thread, whose
requests it parses and answers, counts as the thread's.

A turn ends with each operation that calls wait for, not with all of a round: where a sync takes
longer than a turn may, the loop stops waiting, and must learn when the thread goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Turns", "Waiter"]

_SLICE_SECONDS = 0.0005
"""Work for so long is followed by a wait: shorter ones would mostly be overhead."""
_LONGEST_WAIT_SECONDS = 0.002
_LONGEST_OF_TURN_SECONDS = 0.004
"""A turn that takes longer waits for the disk, and does not need the interpreter."""


class Waiter(Protocol):
    """A thread that performs calls in turns."""

    @property
    def is_busy(self) -> bool:
        """Whether it has calls to perform."""

    def used_seconds(self) -> float:
        """Returns its processor time so far."""

    def await_turn(self, seconds: float) -> bool:
        """Waits until a turn ends, or for so long; returns whether one has ended since the last
        call.
        """


class Turns:
    """Divides the interpreter between the event loop, which uses this, and a thread. `used` returns
    the processor time of the calling thread in seconds.
    """

    def __init__(self, thread: Waiter, used: Callable[[], float] = time.thread_time) -> None:
        self._thread = thread
        self._used = used
        self._since: float | None = None
        self._credited = 0.0
        self._owed = 0.0
        self._waited = 0.0

    def end(self, *, for_thread: bool) -> None:
        """Notes that the loop has done a part of its work, and may wait. `for_thread` is whether
        that was for a call of the thread.
        """
        if not self._thread.is_busy:
            self._since = None
            self._owed = self._waited = 0.0
            return
        now = self._used()
        took = 0.0 if self._since is None else now - self._since
        self._since = now
        if for_thread:
            self._credit(took)
            return
        self._owed += took
        if self._owed < _SLICE_SECONDS:
            return
        self._credit_use()
        if self._owed >= _SLICE_SECONDS:
            self._wait()

    def _wait(self) -> None:
        wait = self._owed = min(self._owed, _LONGEST_WAIT_SECONDS)
        if self._waited >= _LONGEST_OF_TURN_SECONDS:
            wait = 0.0  # only looks whether the turn has ended
        if self._thread.await_turn(wait):
            self._waited = 0.0
        else:
            self._waited += wait
        self._credit_use()
        self._since = self._used()

    def _credit_use(self) -> None:
        used = self._thread.used_seconds()
        self._credit(used - self._credited)
        self._credited = used

    def _credit(self, seconds: float) -> None:
        self._owed = max(self._owed - seconds, -_SLICE_SECONDS)
