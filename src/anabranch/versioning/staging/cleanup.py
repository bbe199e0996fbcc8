"""Cleanup of staging areas that a commit has applied, a reset emptied, or a deleted branch left.

A change that drops a staging token records it under `cleanup-tokens` in the same step; the cleaner
drops the token's partition after a grace period. The grace period is for readers with an older
record of the branch, which still read the staging areas that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.versioning.records import keys

__all__ = ["GRACE_SECONDS", "Cleaner", "discard"]

GRACE_SECONDS = 60.0


def discard(tokens: Iterable[str], now: float) -> list[Write]:
    """Returns the writes that schedule staging areas for removal; `now` in seconds since 1970."""
    return [Write(keys.CLEANUP, token.encode(), b"%d" % now) for token in tokens]


class Cleaner:
    """Drops the staging areas scheduled for removal. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        clock: Callable[[], float],
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._keyvalue = keyvalue
        self._clock = clock
        self._grace = grace_seconds

    def clean(self) -> int:
        """Drops the staging areas whose grace period has passed; returns their number."""
        dropped = 0
        # scans all of them: they are ordered by name, so the oldest may be last
        for token, since in list(self._keyvalue.scan(keys.CLEANUP)):
            # lakeFS stores a text here that is not a time: such an area is dropped at once
            if since.isdigit() and self._clock() - int(since) < self._grace:
                continue
            if self._keyvalue.get(keys.CLEANUP, token) is None:
                continue  # it has a branch again, by a restore
            self._keyvalue.drop(token.decode())
            self._keyvalue.apply([Write(keys.CLEANUP, token, None)])
            dropped += 1
        return dropped
