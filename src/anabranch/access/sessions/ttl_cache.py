"""A small cache whose entries expire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["TTLCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class TTLCache(Generic[Key, Value]):
    """At most `size` entries, each with a deadline. `ticks` is a monotonic clock, in seconds.
    Thread-safe.
    """

    def __init__(self, size: int, ticks: Callable[[], float]) -> None:
        self._size = size
        self._ticks = ticks
        self._entries: dict[Key, tuple[Value, float]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Returns the value of an entry, None if there is none or it has expired."""
        entry = self.get_with_deadline(key)
        return None if entry is None else entry[0]

    def get_with_deadline(self, key: Key) -> tuple[Value, float] | None:
        """Returns the value and the deadline, in ticks, of an entry; None as `get` does."""
        entry = self._entries.get(key)
        return None if entry is None or entry[1] <= self._ticks() else entry

    def put(self, key: Key, value: Value, deadline: float) -> None:
        """Stores a value until `deadline`, in ticks; evicts the oldest entry if there are too
        many.
        """
        if self._size <= 0 or deadline <= self._ticks():
            return
        with self._lock:
            self._entries.pop(key, None)
            while len(self._entries) >= self._size:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = (value, deadline)
