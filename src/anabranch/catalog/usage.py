"""Use case of usage reports: how many requests were received in each month.

A process counts its requests in memory and adds them to the stored counts once a minute, when it
stops, and before a report. A process that is killed loses the requests of its last minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from anabranch.errors import OutcomeUnknown
from anabranch.versioning.core import Core
from anabranch.versioning.usage import MonthlyUsage

__all__ = ["FLUSH_INTERVAL", "Usage"]

FLUSH_INTERVAL = 60.0
"""Seconds between two additions to the stored counts."""


class Usage:
    """The request count of this process, and the reports of all. `clock` returns seconds since
    1970.
    """

    def __init__(self, core: Core, clock: Callable[[], float]) -> None:
        self.requests = 0
        """Requests since the start; only the thread that receives requests changes it."""
        self._core = core
        self._clock = clock
        self._lock = threading.Lock()
        self._stored = 0

    def flush(self) -> None:
        """Adds the requests that are not stored yet to the stored counts."""
        with self._lock:
            requests = self.requests
            if requests == self._stored:
                return
            try:
                self._core.usage_counts.add(self._clock(), requests - self._stored)
            except OutcomeUnknown:
                self._stored = requests  # rather lose requests than count them twice
                raise
            self._stored = requests

    def report(self) -> list[MonthlyUsage]:
        """Returns the requests of each month, the oldest first; those of other processes may be a
        minute old.
        """
        self.flush()
        return self._core.usage_counts.all()
