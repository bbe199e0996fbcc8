"""A request of a thread that waits for a group commit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["Request"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Request(Generic[Item, Outcome]):
    """The items of a waiting thread, and later their outcomes or the error of the commit; or
    `leads`, if the thread must commit them itself. `is_woken` is set before the thread is woken.
    """

    __slots__ = ("_wakeup", "error", "is_woken", "items", "leads", "outcomes")

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.outcomes: Sequence[Outcome] = ()
        self.error: BaseException | None = None
        self.leads = False
        self.is_woken = False
        self._wakeup = threading.Lock()
        self._wakeup.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Waits until `wake`, at most `seconds` (negative: without a limit). Returns whether it was
        called.
        """
        return self._wakeup.acquire(timeout=seconds)

    def wake(self) -> None:
        """Wakes the thread that waits for this request."""
        self.is_woken = True
        self._wakeup.release()
