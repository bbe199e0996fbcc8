"""Waiting for a condition, in place of a pause that is long enough on most machines."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["TIMEOUT_SECONDS", "eventually"]

TIMEOUT_SECONDS = 60
"""How long a test waits for what should be so within milliseconds: a machine may stall."""

_INTERVAL_SECONDS = 0.005


def eventually(holds: Callable[[], object], timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Returns when a condition holds. Raises AssertionError when it has not within the timeout."""
    deadline = time.monotonic() + timeout_seconds
    while not holds():
        assert time.monotonic() < deadline, f"did not hold within {timeout_seconds:g} s"
        time.sleep(_INTERVAL_SECONDS)
