"""Whether a call of a tool was cancelled, and what ends it then: shared by the event loop, which
cancels, and the thread that works.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from anabranch.errors import Busy

__all__ = ["Abortable", "Cancellation"]


class Abortable(Protocol):
    """What a cancelled call waits for."""

    def abort(self) -> None:
        """Lets waits for it fail."""


class Cancellation:
    """The cancellation of one call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waits: list[Abortable] = []
        self._is_cancelled = False

    def is_cancelled(self) -> bool:
        """Returns whether the call was cancelled."""
        return self._is_cancelled

    def cancel(self) -> None:
        """Cancels the call: what it waits for is aborted."""
        with self._lock:
            self._is_cancelled = True
            waits = list(self._waits)
        for each in waits:
            each.abort()

    @contextmanager
    def aborting(self, wait: Abortable) -> Iterator[None]:
        """Lets a cancellation abort what the block waits for. Raises Busy for a call that was
        cancelled before.
        """
        with self._lock:
            if self._is_cancelled:
                raise Busy("the call was cancelled", kind="call_cancelled")
            self._waits.append(wait)
        try:
            yield
        finally:
            with self._lock:
                self._waits.remove(wait)
