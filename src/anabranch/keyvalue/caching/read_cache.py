"""A cache of values read, valid until another process commits.

Most requests read the same few records: a repository, a branch, a user. Until they change,
such a read costs a look at the change counter and into a dictionary; reading the database would
take and release its locks each time.

A value that was read after the counter had an even number is current for as long as the counter has
that number: a process increases it before it commits, and it never decreases. A commit of this
process says which values it has written: they take the place of those that are cached, and the
others stay. A commit of another process empties the cache.

The same holds for a range of keys that was found empty, as the staging area of most branches is: it
stays so until a key in it is written.
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

_Range: TypeAlias = tuple[bytes, bytes | None]
"""The first key and the first one behind, None if all others are in the range."""

_MAX_VALUES = 8_192
_MAX_VALUE_BYTES = 4_096
_MAX_RANGES_OF_PARTITION = 4
_MISSING = b"unknown"


class _CachedValues(NamedTuple):
    """The values that are current while a counter has a number. Replaced as one object, so that no
    thread combines a number with the values of another.
    """

    counter: SharedCounter | None
    number: int
    values: dict[_Location, bytes | None]
    empty: dict[str, tuple[_Range, ...]]
    """By partition, ranges of keys without a value."""

    def are_of(self, counter: SharedCounter, number: int) -> bool:
        """Returns whether these are the values for a number of a counter."""
        return self.number == number and self.counter is counter


_NOTHING = _CachedValues(None, 0, {}, {})


class ReadCache:
    """Caches what `read` returns: at most 8,192 values of up to 4 KiB; and which pages, of
    `read_page`, are empty: at most four of each of 8,192 partitions. Safe for use from many
    threads.
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

    def page(self, partition: str, start: bytes, end: bytes | None, limit: int) -> Sequence[Row]:
        """Returns the first pairs with start <= key < end that the database has now, at most
        `limit`, which is positive.
        """
        counter = self._changes.shared
        now = counter.number[0]
        cached = self._cached
        known = cached.empty.get(partition)
        is_empty = known and (start, end) in known and cached.are_of(counter, now)
        if is_empty and counter.is_current_inode():
            return ()
        rows = self._read_page(partition, start, end, limit)
        if not rows and not now & 1:
            self._keep_empty(counter, now, partition, (start, end))
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
        cached are replaced by what was `written`, in this order, and the empty ranges around it
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
                    if partition in cached.empty:
                        _forget_around(location, cached.empty)
                self._cached = cached._replace(number=before + 2)
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

    def _keep_empty(
        self, counter: SharedCounter, number: int, partition: str, keys: _Range
    ) -> None:
        """Caches that a range was found empty after the counter had the number."""
        with self._lock:
            cached = self._current(counter, number)
            if cached is None:
                return
            if len(cached.empty) >= _MAX_VALUES:
                cached = self._cached = cached._replace(empty={})
            others = cached.empty.get(partition, ())[1 - _MAX_RANGES_OF_PARTITION :]
            cached.empty[partition] = (*others, keys)

    def _current(self, counter: SharedCounter, number: int) -> _CachedValues | None:
        """Returns what is cached for a number of the counter; None if a commit has begun since. The
        caller holds the lock.
        """
        if not self._cached.are_of(counter, number):
            if counter.number[0] != number:
                return None
            self._cached = _CachedValues(counter, number, {}, {})
        return self._cached


def _forget_around(location: _Location, empty: dict[str, tuple[_Range, ...]]) -> None:
    """Removes the ranges that hold a key from those of its partition."""
    partition, key = location
    for keys in empty[partition]:
        start, end = keys
        if start <= key and (end is None or key < end):
            empty[partition] = tuple(each for each in empty[partition] if each is not keys)
