"""Applies that follow one another, such as moves of a branch: those that wait are made together.

Each expects what the one before it writes, so on connections of their own they would be made one
after another, each with its wait for the disk. Here the first goes ahead; those that arrive
meanwhile are made together, in the order of their arrival. Applies of other keys are not delayed:
each key has a queue, for as long as there is something in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from anabranch.batching.group_commit import GroupCommit
from anabranch.keyvalue.batching.apply_batching import Apply, ApplyResult

__all__ = ["OrderedApplies"]

_Queue: TypeAlias = GroupCommit[Apply, ApplyResult]


class OrderedApplies:
    """Queues of applies. `run` performs some in their order, in one transaction; it returns the
    result of each. Safe for use from many threads.
    """

    def __init__(self, run: Callable[[Sequence[Apply]], Sequence[ApplyResult]]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._queues: dict[Hashable, _Queue] = {}
        self._users: dict[Hashable, int] = {}

    def apply(self, key: Hashable, apply: Apply) -> ApplyResult:
        """Returns the result of an apply, which comes after those that have their place."""
        with self._queue(key) as queue:
            return queue.submit(apply)

    @contextmanager
    def _queue(self, key: Hashable) -> Iterator[_Queue]:
        with self._lock:
            queue = self._queues.get(key)
            if queue is None:
                queue = self._queues[key] = GroupCommit(self._run, name="anabranch-applies")
            self._users[key] = self._users.get(key, 0) + 1
        try:
            yield queue
        finally:
            with self._lock:
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key], self._queues[key]
