"""Values that a store on another machine had a moment ago, for reads of what never changes.

A tree of a commit is the same for ever, but whether its repository still exists must be asked of
the database. Asking again for each read costs more than the read. So a process keeps the values
that it has read for RECENT_SECONDS, counted from before it asked. A caller that removes such a
value waits longer than that (`outlast_recent`) before it acknowledges the removal: no process uses
the value then. No clocks are compared, only durations.

An absent value is not kept, so what is created is seen at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["RECENT_SECONDS", "RecentReads", "RecentValues", "outlast_recent", "recent_reads"]

RECENT_SECONDS = 0.25
"""How old a value may be."""

_OUTLAST_SECONDS = 1.2 * RECENT_SECONDS
"""Longer, because clocks of several machines do not run equally fast."""

_MAX_VALUES = 1_000


@runtime_checkable
class RecentReads(Protocol):
    """A store whose reads may return what it had a moment ago."""

    def get_recent(self, partition: str, key: bytes) -> bytes | None:
        """Returns a value that the key had at some moment of the last RECENT_SECONDS, or None."""


class _Known(NamedTuple):
    value: bytes
    until: float


class RecentValues:
    """Keeps what `read` returns for RECENT_SECONDS. Safe for use from many threads."""

    def __init__(self, read: Callable[[str, bytes], bytes | None]) -> None:
        self._read = read
        self._known: dict[tuple[str, bytes], _Known] = {}

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns a value that the key had at some moment of the last RECENT_SECONDS, or None."""
        location = (partition, key)
        now = time.monotonic()
        known = self._known.get(location)
        if known is not None and now < known.until:
            return known.value
        value = self._read(partition, key)
        if value is None:
            self._known.pop(location, None)
        else:
            if len(self._known) >= _MAX_VALUES:
                self._known.clear()
            self._known[location] = _Known(value, now + RECENT_SECONDS)
        return value


def recent_reads(store: KeyValueStore) -> RecentReads | None:
    """Returns a store if it has such reads, or None."""
    return store if isinstance(store, RecentReads) else None


def outlast_recent() -> None:
    """Waits until no process uses a value that was removed before."""
    time.sleep(_OUTLAST_SECONDS)
