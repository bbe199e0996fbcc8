"""Values that were read or stored last, kept in memory up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["RecentValues"]

T = TypeVar("T")


class RecentValues(Generic[T]):
    """Values by key, of which the least recently used ones are forgotten; those larger than
    `largest` are not kept. Thread-safe.
    """

    def __init__(self, most_bytes: int, largest: int) -> None:
        self._most_bytes, self._largest = most_bytes, largest
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[str, str]) -> T | None:
        """Returns a value, None if it is not known."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: tuple[str, str], value: T, size: int) -> None:
        """Keeps a value of so many bytes, unless it is too large."""
        with self._lock:
            if size > self._largest or key in self._kept:
                return
            self._kept[key] = value, size
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]
