"""Branch locks: fair locks by name, which serialize the changes of one branch in a process.

Compare-and-set alone would be correct, but of 32 concurrent writers 31 would do their work in vain
each time. These locks exclude the threads of one process; between processes, of which there are
few, compare-and-set decides.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

__all__ = ["BranchLocks"]


class BranchLocks:
    """Locks by name, each granted in the order of the requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[Hashable, deque[threading.Event]] = {}

    @contextmanager
    def acquire(self, name: Hashable) -> Iterator[bool]:
        """Holds the lock `name`; yields whether the caller had to wait for it."""
        granted = threading.Event()
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            queue.append(granted)
            first = queue[0] is granted
            if first:
                granted.set()
        try:
            granted.wait()
            yield not first
        finally:
            self._release(name, granted)

    def _release(self, name: Hashable, granted: threading.Event) -> None:
        with self._lock:
            queue = self._queues[name]
            queue.remove(granted)
            if queue:
                queue[0].set()
            else:
                del self._queues[name]
