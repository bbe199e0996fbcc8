"""A small map whose entries end: what was checked a moment ago need not be checked again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Expiring"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Expiring(Generic[Key, Value]):
    """At most `size` entries, each until its time; `ticks` is a clock that never goes back, in
    seconds. Safe for use from many threads.
    """

    def __init__(self, size: int, ticks: Callable[[], float]) -> None:
        self._size = size
        self._ticks = ticks
        self._entries: dict[Key, tuple[Value, float]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Returns the entry's value, or None if there is none or its time is over."""
        entry = self.entry(key)
        return None if entry is None else entry[0]

    def entry(self, key: Key) -> tuple[Value, float] | None:
        """Returns the entry's value and until when it holds, in ticks, or None as `get` does."""
        entry = self._entries.get(key)
        return None if entry is None or entry[1] <= self._ticks() else entry

    def put(self, key: Key, value: Value, deadline: float) -> None:
        """Keeps a value until `deadline`, in ticks; the oldest entry goes when there are too
        many.
        """
        if self._size <= 0 or deadline <= self._ticks():
            return
        with self._lock:
            self._entries.pop(key, None)
            while len(self._entries) >= self._size:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = (value, deadline)
