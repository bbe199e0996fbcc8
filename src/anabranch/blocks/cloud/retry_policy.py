"""Timeouts and retries of requests to an object store."""

from __future__ import annotations

import random
from typing import NamedTuple

from anabranch.store_observer import UNOBSERVED, StoreObserver

__all__ = ["FIRST_BACKOFF", "MAX_BACKOFF", "RetryPolicy"]

FIRST_BACKOFF = 0.1
MAX_BACKOFF = 5.0


class RetryPolicy(NamedTuple):
    """Limits of a request, times in seconds.

    A request is retried at most `retries` times and not after `deadline`. `read_timeout` limits the
    wait for the next bytes of a response, `connect_timeout` that for a connection; the last attempt
    may end that much after the deadline. `observer` learns of requests and retries.
    """

    deadline: float = 30.0
    retries: int = 5
    read_timeout: float = 20.0
    connect_timeout: float = 5.0
    observer: StoreObserver = UNOBSERVED

    def backoff(self, attempt: int) -> float:
        """Returns how many seconds to wait after an attempt, counted from 0: 0.1, 0.2, 0.4, … up to
        5, multiplied by a random factor of 1 to 2 so that clients do not retry in step.
        """
        factor = random.uniform(1, 2)  # noqa: S311  no secret
        return float(min(MAX_BACKOFF, FIRST_BACKOFF * 2**attempt) * factor)
