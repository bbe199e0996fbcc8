"""A cache of values read, valid until another process commits.

Most requests read the same few records: a repository, a branch, a user. Until they change,
such a read costs a look at the change counter and into a dictionary; reading the database would
take and release its locks each time.

A value that was read after the counter had an even number is current for as long as the counter has
that number: a process increases it before it commits, and it never decreases. A commit of this
process says which values it has written: they take the place of those that are cached, and the
others stay. A commit of another process empties the cache.

The same holds for a range of keys that has few pairs or none, as the staging area of most branches
has: it stays so until a key in it is written, and tells what is in each range within it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch.keyvalue.caching.shared_version import SeqlockCounter, SharedCounter
from anabranch.keyvalue.contract import Row, Write

__all__ = ["ReadCache"]

_Location: TypeAlias = tuple[str, bytes]
"""A partition and a key."""

_MAX_VALUES = 8_192
_MAX_VALUE_BYTES = 4_096
_MAX_RANGES_OF_PARTITION = 4
_MAX_ROWS = 8
_MAX_ROW_BYTES = 1_024
_MISSING = b"unknown"


class _Range(NamedTuple):
    """All pairs with start <= key < end, or without an end if that is None."""

    start: bytes
    end: bytes | None
    rows: Sequence[Row]

    def contains(self, start: bytes, end: bytes | None) -> bool:
        """Returns whether all keys of another range are in this one."""
        return self.start <= start and (self.end is None or (end is not None and end <= self.end))

    def within(self, start: bytes, end: bytes | None) -> Sequence[Row]:
        """Returns the pairs that are in another range."""
        return [row for row in self.rows if start <= row[0] and (end is None or row[0] < end)]


class _CachedValues(NamedTuple):
    """The values that are current while a counter has a number. Replaced as one object, so that no
    thread combines a number with the values of another.
    """

    counter: SharedCounter | None
    number: int
    values: dict[_Location, bytes | None]
    ranges: dict[str, tuple[_Range, ...]]
    """By partition, ranges of keys with few pairs or none."""

    def are_of(self, counter: SharedCounter, number: int) -> bool:
        """Returns whether these are the values for a number of a counter."""
        return self.number == number and self.counter is counter


_NOTHING = _CachedValues(None, 0, {}, {})


class ReadCache:
    """Caches what `read` returns: at most 8,192 values of up to 4 KiB; and short pages, of
    `read_page`: at most four of each of 8,192 partitions, with up to 8 pairs of 1 KiB together.
    Safe for use from many threads.
    """

    def __init__(
        self,
        changes: SeqlockCounter,
        read: Callable[[str, bytes], bytes | None],
        read_page: Callable[[str, bytes, bytes | None, int], Sequence[Row]],
    ) -> None:
        self._changes = changes
        self._read = read
        self._read_page = read_page
        self._cached = _NOTHING
        self._lock = threading.Lock()  # taken to change what is cached, not to look it up

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value that the database has now, or None."""
        counter = self._changes.shared
        now = counter.number[0]
        cached = self._cached
        location = (partition, key)
        if cached.number == now and cached.counter is counter and counter.is_current_inode():
            value = cached.values.get(location, _MISSING)
            if value is not _MISSING:
                return value
        value = self._read(partition, key)
        if not now & 1 and (value is None or len(value) <= _MAX_VALUE_BYTES):
            self._keep(counter, now, location, value)
        return value

    def version(self) -> object | None:
        """Returns the counter and its number; None while a commit is running, and where the counter
        cannot be relied on.
        """
        counter = self._changes.shared
        now = counter.number[0]
        return None if now & 1 or not counter.is_current_inode() else (counter, now)

    def page(self, partition: str, start: bytes, end: bytes | None, limit: int) -> Sequence[Row]:
        """Returns the first pairs with start <= key < end that the database has now, at most
        `limit`, which is positive.
        """
        counter = self._changes.shared
        now = counter.number[0]
        cached = self._cached
        for known in cached.ranges.get(partition, ()):
            if known.contains(start, end) and cached.are_of(counter, now):
                if not counter.is_current_inode():
                    break
                return known.within(start, end)[:limit] if known.rows else ()
        rows = self._read_page(partition, start, end, limit)
        if len(rows) < limit and len(rows) <= _MAX_ROWS and not now & 1:
            self._keep_range(counter, now, partition, _Range(start, end, rows))
        return rows

    def begin_commit(self) -> int:
        """Marks the start of a commit: from now on, readers may find the new values. Returns the
        number that `end_commit` is to be given. The caller must hold the write lock.
        """
        before = self._changes.shared.number[0]
        self._changes.begin()
        return before

    def end_commit(self, before: int, written: Iterable[Write] | None) -> None:
        """Marks the end of a commit: from now on, no reader finds the old values. Those that are
        cached are replaced by what was `written`, in this order, and the ranges around it
        are forgotten; all is forgotten if that is None.

        Must not be called for a commit that has failed: its writes may appear later.
        """
        counter = self._changes.shared
        with self._lock:
            cached = self._cached
            # other numbers mean that other processes have committed, or that a writer has died
            if written is not None and not before & 1 and cached.are_of(counter, before):
                for partition, key, value in written:
                    location = (partition, key)
                    if location in cached.values:  # others may never be read
                        if value is None or len(value) <= _MAX_VALUE_BYTES:
                            cached.values[location] = value
                        else:
                            del cached.values[location]
                    if partition in cached.ranges:
                        _forget_around(location, cached.ranges)
                self._cached = _CachedValues(counter, before + 2, cached.values, cached.ranges)
        self._changes.end()

    def close(self) -> None:
        """Empties the cache, which caches nothing from then on."""
        self._changes.close()
        with self._lock:
            self._cached = _NOTHING

    def leave_to_parent(self) -> None:
        """In a forked process: closes the cache, with a new lock. A thread of the parent may have
        held the old one when the process was forked, and no thread here would release it.
        """
        self._lock = threading.Lock()
        self.close()

    def _keep(
        self, counter: SharedCounter, number: int, location: _Location, value: bytes | None
    ) -> None:
        """Caches a value that was read after the counter had the number."""
        with self._lock:
            cached = self._current(counter, number)
            if cached is None:
                return
            if len(cached.values) >= _MAX_VALUES:
                cached = self._cached = cached._replace(values={})
            cached.values[location] = value

    def _keep_range(
        self, counter: SharedCounter, number: int, partition: str, found: _Range
    ) -> None:
        """Caches a range that was read after the counter had the number."""
        if sum([len(key) + len(value) for key, value in found.rows]) > _MAX_ROW_BYTES:
            return
        with self._lock:
            cached = self._current(counter, number)
            if cached is None:
                return
            if len(cached.ranges) >= _MAX_VALUES:
                cached = self._cached = cached._replace(ranges={})
            others = cached.ranges.get(partition, ())[1 - _MAX_RANGES_OF_PARTITION :]
            cached.ranges[partition] = (*others, found)

    def _current(self, counter: SharedCounter, number: int) -> _CachedValues | None:
        """Returns what is cached for a number of the counter; None if a commit has begun since. The
        caller holds the lock.
        """
        if not self._cached.are_of(counter, number):
            if counter.number[0] != number:
                return None
            self._cached = _CachedValues(counter, number, {}, {})
        return self._cached


def _forget_around(location: _Location, ranges: dict[str, tuple[_Range, ...]]) -> None:
    """Removes the ranges that have a key from those of its partition."""
    partition, key = location
    for each in ranges[partition]:
        if each.start <= key and (each.end is None or key < each.end):
            ranges[partition] = tuple([kept for kept in ranges[partition] if kept is not each])
