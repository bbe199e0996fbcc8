"""A key-value store in memory, for tests and for repositories that need not outlive a process.

It behaves as the durable stores do: one lock guards a dictionary and a sorted list of keys for each
partition, which is short enough to verify by reading.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from anabranch.keyvalue.contract import Expect, KeyRange, Row, Write

__all__ = ["MemoryStore"]

_PAGE_SIZE = 256


class _Partition:
    """Values by key, and the sorted keys."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.keys: list[bytes] = []

    def write(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            if self.values.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
            return
        if key not in self.values:
            insort(self.keys, key)
        self.values[key] = value

    def page(self, start: bytes, end: bytes | None, page_size: int) -> list[tuple[bytes, bytes]]:
        first = bisect_left(self.keys, start)
        last = len(self.keys) if end is None else bisect_left(self.keys, end)
        return [(key, self.values[key]) for key in self.keys[first : min(last, first + page_size)]]


class MemoryStore:
    """A `KeyValueStore` in memory; its content is lost with the object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: dict[str, _Partition] = {}

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        with self._lock:
            return self._get(partition, key)

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order."""
        with self._lock:
            return [self._get(partition, key) for key in keys]

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
        while limit is None or limit > 0:
            page_size = _PAGE_SIZE if limit is None else min(limit, _PAGE_SIZE)
            with self._lock:
                stored = self._partitions.get(partition)
                rows = stored.page(start, end, page_size) if stored else []
            yield from rows
            if len(rows) < page_size:
                return
            start = rows[-1][0] + b"\0"
            limit = None if limit is None else limit - page_size

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the pairs of each range, in order, as they were at one moment."""
        with self._lock:
            stored = self._partitions.get(partition) or _Partition()
            return [stored.page(start, end, len(stored.keys)) for start, end in ranges]

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes atomically if every expectation holds, else none; returns whether it
        made them.
        """
        with self._lock:
            if any(self._get(partition, key) != value for partition, key, value in expect):
                return False
            for partition, key, value in writes:
                self._partitions.setdefault(partition, _Partition()).write(key, value)
        return True

    def drop(self, partition: str) -> None:
        """Removes a whole partition."""
        with self._lock:
            self._partitions.pop(partition, None)

    def close(self) -> None:
        """Does nothing: there is nothing to release."""

    def _get(self, partition: str, key: bytes) -> bytes | None:
        stored = self._partitions.get(partition)
        return stored.values.get(key) if stored else None
