"""The times that the phases of a job take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PhaseTimes"]


class PhaseTimes:
    """Measures phases by a monotonic clock in seconds. `seconds` has the total time of each phase
    by name, in the order in which they began, also of those that failed.
    """

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measures a phase while the context is entered."""
        began = self._ticks()
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds[name] + self._ticks() - began, 3)
