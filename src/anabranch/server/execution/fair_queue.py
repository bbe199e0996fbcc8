"""Queue of calls that takes turns among the callers, none of whom may hold all places.

A caller with a thousand waiting calls gets one place after each of the others, so a caller with one
call waits for as many places as there are callers. Calls that keep their places, since their client
is slow, hold at most a share of them.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Generic, TypeVar

__all__ = ["FairQueue"]

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items that wait for a place. A caller holds at most `share` places; the caller "" is the
    server itself, and has no such limit. Not thread-safe.
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Item]] = {}
        self._count = 0
        self._turns: deque[str] = deque()
        """Callers that have a waiting item and may take a place, each once."""

    def __len__(self) -> int:
        return self._count

    def add(self, caller: str, item: Item) -> None:
        """Adds an item behind those of its caller."""
        self._count += 1
        items = self._waiting.get(caller)
        if items is not None:
            items.append(item)
            return
        self._waiting[caller] = deque((item,))
        if self._may_take(caller):
            self._turns.append(caller)

    def take(self) -> tuple[str, Item] | None:
        """Returns the next item with its caller, which holds a place from now on; None if no item
        waits whose caller may have another one.
        """
        if not self._turns:
            return None
        caller = self._turns.popleft()
        items = self._waiting[caller]
        item = items.popleft()
        self._count -= 1
        self._held[caller] += 1
        if not items:
            del self._waiting[caller]
        elif self._may_take(caller):
            self._turns.append(caller)
        return caller, item

    def release(self, caller: str) -> None:
        """Takes a place back from a caller."""
        was_full = not self._may_take(caller)
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        if was_full and caller in self._waiting:
            self._turns.append(caller)

    def clear(self) -> None:
        """Drops all items that wait."""
        self._waiting.clear()
        self._turns.clear()
        self._count = 0

    def _may_take(self, caller: str) -> bool:
        return not caller or self._held[caller] < self._share
