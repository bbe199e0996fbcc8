"""How often a request is sent again, and how long the client waits before that."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

__all__ = ["DEFAULT_RETRIES", "NO_RETRIES", "RetryPolicy"]

INITIAL_DELAY = 0.2
MAX_DELAY = 30.0


class RetryPolicy(NamedTuple):
    """`attempts` counts the first one."""

    attempts: int = 5

    def delay(self, attempt: int, retry_after: str = "") -> float:
        """Returns the seconds to wait after a failed attempt: the server's `Retry-After` (RFC 9110,
        10.2.3), or a random time below a bound that doubles with each attempt.
        """
        if retry_after.isdecimal():
            return min(float(retry_after), MAX_DELAY)
        if retry_after:
            from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415  hardly ever a date

            moment = parsedate_tz(retry_after)
            if moment:
                return min(max(mktime_tz(moment) - time.time(), 0.0), MAX_DELAY)
        bound = min(INITIAL_DELAY * 2**attempt, MAX_DELAY)
        return random.uniform(bound / 2, bound)  # noqa: S311  spreading, not secrecy


DEFAULT_RETRIES = RetryPolicy()
NO_RETRIES = RetryPolicy(attempts=1)
