"""What the tasks of a phase have used, of a job that an engine divides into tasks."""

from __future__ import annotations

import msgspec

__all__ = ["TaskTotals"]


class TaskTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a phase: those that have `completed`, `failed` attempts, and attempts that were
    `killed`, as a faster attempt had ended. `executor_seconds` is the sum of their running times,
    and `collection_seconds` the part of it in which Java collected garbage. `shuffled_bytes` were
    written for other tasks, and `spilled_bytes` to disk for lack of memory. `peak_heap_bytes` is
    the largest heap of an executor, or 0 if the phase was too short to measure it.
    """

    completed: int = 0
    failed: int = 0
    killed: int = 0
    executor_seconds: float = 0.0
    collection_seconds: float = 0.0
    shuffled_bytes: int = 0
    spilled_bytes: int = 0
    peak_heap_bytes: int = 0

    def __add__(self, other: TaskTotals) -> TaskTotals:
        """Returns the totals of both."""
        return TaskTotals(
            completed=self.completed + other.completed,
            failed=self.failed + other.failed,
            killed=self.killed + other.killed,
            executor_seconds=round(self.executor_seconds + other.executor_seconds, 3),
            collection_seconds=round(self.collection_seconds + other.collection_seconds, 3),
            shuffled_bytes=self.shuffled_bytes + other.shuffled_bytes,
            spilled_bytes=self.spilled_bytes + other.spilled_bytes,
            peak_heap_bytes=max(self.peak_heap_bytes, other.peak_heap_bytes),
        )
