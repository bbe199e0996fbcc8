"""The wall clock, whose seconds are those of names and modification times of stored objects."""

from __future__ import annotations

import time

__all__ = ["wait_a_second"]


def wait_a_second() -> None:
    """Returns when all that was stored before is of an earlier second than now, and so is old
    enough for a collection without a grace period.
    """
    start = int(time.time())
    while int(time.time()) <= start + 1:
        time.sleep(0.05)
