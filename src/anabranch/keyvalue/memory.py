"""A key-value store in memory, for tests and for repositories that need not outlive a process.

It is the twin of the durable stores: one lock around a dictionary and a sorted list of keys for
each partition, short enough to be seen to be right.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from anabranch.keyvalue.contract import Expect, Write

__all__ = ["MemoryStore"]

_PAGE = 256


class _Partition:
    """Values by key, and the keys in order."""

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

    def page(self, start: bytes, end: bytes | None, amount: int) -> list[tuple[bytes, bytes]]:
        first = bisect_left(self.keys, start)
        last = len(self.keys) if end is None else bisect_left(self.keys, end)
        return [(key, self.values[key]) for key in self.keys[first : min(last, first + amount)]]


class MemoryStore:
    """A `KeyValueStore` in memory; what it holds ends with it."""

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
            amount = _PAGE if limit is None else min(limit, _PAGE)
            with self._lock:
                held = self._partitions.get(partition)
                rows = held.page(start, end, amount) if held else []
            yield from rows
            if len(rows) < amount:
                return
            start = rows[-1][0] + b"\0"
            limit = None if limit is None else limit - amount

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes at once if every expectation holds, else none; returns whether."""
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
        held = self._partitions.get(partition)
        return held.values.get(key) if held else None
