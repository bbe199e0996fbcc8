"""Turns: who changes the same branch waits in a queue, first come first served.

Compare-and-set alone would be correct, and would let 31 of 32 writers do their work in vain each
time. Turns keep the threads of one process apart; between processes compare-and-set decides, and
there are few processes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

__all__ = ["Turns"]


class Turns:
    """Queues by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[Hashable, deque[threading.Event]] = {}

    @contextmanager
    def take(self, name: Hashable) -> Iterator[bool]:
        """Waits for the caller's turn and holds it; gives whether another came before."""
        mine = threading.Event()
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            queue.append(mine)
            first = queue[0] is mine
            if first:
                mine.set()
        try:
            mine.wait()
            yield not first
        finally:
            self._leave(name, mine)

    def _leave(self, name: Hashable, mine: threading.Event) -> None:
        with self._lock:
            queue = self._queues[name]
            queue.remove(mine)
            if queue:
                queue[0].set()
            else:
                del self._queues[name]
