"""Admission of long requests: a few run at once, a few wait, all others are refused at once.

Each of them occupies a thread of the server's pool, which other requests need as well.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Busy

__all__ = ["Admission"]


class Admission:
    """Admits `running` callers at once; `waiting` more wait for at most `seconds`."""

    def __init__(self, what: str, *, running: int, waiting: int, seconds: float) -> None:
        self._what = what
        self._seconds = seconds
        self._places = threading.BoundedSemaphore(running + waiting)
        self._slots = threading.BoundedSemaphore(running)

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Admits the caller for the context. Raises Busy."""
        if not self._places.acquire(blocking=False):
            raise self._busy()
        try:
            if not self._slots.acquire(timeout=self._seconds):
                raise self._busy()
            try:
                yield
            finally:
                self._slots.release()
        finally:
            self._places.release()

    def _busy(self) -> Busy:
        return Busy(f"too many {self._what} run at once", kind="too_many_requests_at_once")
