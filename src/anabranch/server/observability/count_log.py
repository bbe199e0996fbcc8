"""Log lines that sum up what may happen thousands of times a minute.

The first one in a minute is logged immediately, the others as a count at its end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence

__all__ = ["LOG_INTERVAL_SECONDS", "CountLog", "log_regularly"]

LOG_INTERVAL_SECONDS = 60.0
_MAX_REASONS = 20
"""Of more reasons in one minute, such as addresses, the others are one."""

_log = logging.getLogger(__name__)


class CountLog:
    """Counts of what happened, by reason, logged behind the text `what`. For the event loop."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._reasons: Counter[str] = Counter()
        self._logged = -LOG_INTERVAL_SECONDS

    def note(self, reason: str) -> None:
        """Counts it once more."""
        is_first = not self._reasons and time.monotonic() - self._logged >= LOG_INTERVAL_SECONDS
        is_known = reason in self._reasons or len(self._reasons) < _MAX_REASONS
        self._reasons[reason if is_known else "others"] += 1
        if is_first:
            self.log()

    def log(self) -> None:
        """Logs the counts since the last line, if there are any."""
        if not self._reasons:
            return
        reasons, self._reasons = self._reasons, Counter()
        self._logged = time.monotonic()
        text = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        _log.warning("%s: %s", self._what, text)


async def log_regularly(logs: Sequence[CountLog]) -> None:
    """Logs the counts once a minute; runs until it is cancelled."""
    while True:
        await asyncio.sleep(LOG_INTERVAL_SECONDS)
        for each in logs:
            each.log()
