"""Writes that callers add to a change, made atomically with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from anabranch.keyvalue.contract import Expect, Write

__all__ = ["ExtraWrites", "ExtraWritesFor", "collect_extra_writes", "combine"]

T = TypeVar("T")

ExtraWrites = tuple[Sequence[Write], Sequence[Expect]]
"""Writes, and the conditions on which they and the change are made."""

ExtraWritesFor = Callable[[T], ExtraWrites]
"""Returns the writes to add to a change, given its result. It is called before the change is made,
and again for each attempt; when it raises, nothing is changed.
"""


def collect_extra_writes(extra_writes: ExtraWritesFor[T] | None, result: T) -> ExtraWrites:
    """Returns the writes to add to a change with this result; none if `extra_writes` is None."""
    return ((), ()) if extra_writes is None else extra_writes(result)


def combine(*parts: ExtraWritesFor[T] | None) -> ExtraWritesFor[T]:
    """Returns a function that returns the extra writes of all `parts`."""

    def combined(result: T) -> ExtraWrites:
        additions = [collect_extra_writes(part, result) for part in parts]
        writes = [write for added, _ in additions for write in added]
        return writes, [condition for _, added in additions for condition in added]

    return combined
