"""Cleaning: staging areas that a commit took in, a reset emptied, or a branch left behind.

Whoever lets go of a staging token writes it down under `cleanup-tokens`, in the same step; the
cleaner drops the token's partition after a grace period, which is there for readers that hold an
older record of the branch: what they look up must not vanish under them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.versioning import keys

__all__ = ["GRACE_SECONDS", "Cleaner", "discard"]

GRACE_SECONDS = 60.0


def discard(tokens: Iterable[str], now: float) -> list[Write]:
    """Returns the writes that let go of staging tokens; `now` in seconds since 1970."""
    return [Write(keys.CLEANUP, token.encode(), b"%d" % now) for token in tokens]


class Cleaner:
    """Drops staging areas that were let go. `clock` gives seconds since 1970."""

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
        """Drops what has waited long enough and returns how many staging areas that were."""
        dropped = 0
        # all of them: they come in the order of their names, and those that wait since long may
        # be last
        for token, since in list(self._keyvalue.scan(keys.CLEANUP)):
            # lakeFS leaves a text here that is no time: such a token is free at once
            if since.isdigit() and self._clock() - int(since) < self._grace:
                continue
            self._keyvalue.drop(token.decode())
            self._keyvalue.apply([Write(keys.CLEANUP, token, None)])
            dropped += 1
        return dropped
