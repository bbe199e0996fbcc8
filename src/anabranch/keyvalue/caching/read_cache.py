"""A cache of values read, valid until the next commit of any process.

Most requests read the same few records: a repository, a branch, a user. While no process commits,
such a read costs a look at the change counter and into a dictionary; reading the database would
take and release its locks each time.

A value that was read after the counter had an even number is current for as long as the counter has
that number: a process increases it before it commits, and it never decreases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from anabranch.keyvalue.caching.shared_version import SeqlockCounter, SharedCounter

__all__ = ["ReadCache"]

Values: TypeAlias = "dict[tuple[str, bytes], bytes | None]"

_MAX_VALUES = 8_192
_MAX_VALUE_BYTES = 4_096
_MISSING = b"unknown"


class _CachedValues(NamedTuple):
    """The values read while a counter had a number. Replaced as one object, so that no thread
    combines a number with the values of another.
    """

    counter: SharedCounter | None
    number: int
    values: Values


class ReadCache:
    """Caches what `read` returns: at most 8,192 values of up to 4 KiB. Safe for use from many
    threads.
    """

    def __init__(self, changes: SeqlockCounter, read: Callable[[str, bytes], bytes | None]) -> None:
        self._changes = changes
        self._read = read
        self._cached = _CachedValues(None, 0, {})

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value that the database has now, or None."""
        counter = self._changes.shared
        now = counter.number[0]
        cached = self._cached
        current = cached.number == now and cached.counter is counter and counter.is_current_inode()
        location = (partition, key)
        if current:
            value = cached.values.get(location, _MISSING)
            if value is not _MISSING:
                return value
        value = self._read(partition, key)
        # if the number has changed meanwhile, no thread uses this entry
        if not now & 1 and (value is None or len(value) <= _MAX_VALUE_BYTES):
            if not current or len(cached.values) >= _MAX_VALUES:
                self._cached = cached = _CachedValues(counter, now, {})
            cached.values[location] = value
        return value

    def close(self) -> None:
        """Empties the cache, which caches nothing from then on."""
        self._changes.close()
        self._cached = _CachedValues(None, 0, {})
