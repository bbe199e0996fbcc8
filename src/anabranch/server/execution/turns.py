"""Turns of the event loop, which performs inline operations, and the batch thread.

Both need the interpreter, which one thread has at a time. A thread that gives it up for a moment,
as around each system call, gets it back only when the event loop waits for its sockets. A write has
about thirty such moments, so beside busy readers each took as long as thirty rounds of their reads.
Therefore the event loop waits, too: after some inline operations for as long as they
took, or until the batch thread has ended a turn. So each gets about half of the interpreter.

A turn ends with each operation that calls wait for, not with all of a round: where a sync takes
longer than a turn may, the loop stops waiting, and must learn when the thread goes on.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Turns", "Waiter"]

_SLICE_SECONDS = 0.0005
"""Inline operations for so long are followed by a wait: shorter ones would mostly be overhead."""
_LONGEST_WAIT_SECONDS = 0.002
_LONGEST_OF_TURN_SECONDS = 0.004
"""A turn that takes longer waits for the disk, and does not need the interpreter."""


class Waiter(Protocol):
    """A thread that performs calls in turns."""

    @property
    def is_busy(self) -> bool:
        """Whether calls are pending."""

    def await_turn(self, seconds: float) -> bool:
        """Waits until a turn ends, or for so long; returns whether one has ended since the last
        call.
        """


class Turns:
    """Divides the interpreter between inline operations and a thread; used by the event loop."""

    def __init__(self, thread: Waiter) -> None:
        self._thread = thread
        self._used = 0.0
        self._waited = 0.0

    def end_inline(self, seconds: float) -> None:
        """Notes an inline operation, which took so long, and may wait."""
        if not self._thread.is_busy:
            self._used = self._waited = 0.0
            return
        self._used += seconds
        if self._used < _SLICE_SECONDS:
            return
        wait, self._used = min(self._used, _LONGEST_WAIT_SECONDS), 0.0
        if self._waited >= _LONGEST_OF_TURN_SECONDS:
            wait = 0.0  # only looks whether the turn has ended
        if self._thread.await_turn(wait):
            self._waited = 0.0
        else:
            self._waited += wait
