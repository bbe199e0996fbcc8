"""Writes that callers add to a change, to be made in the same step or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from anabranch.keyvalue.contract import Expect, Write

__all__ = ["Beside", "ExtraWrites", "all_of", "extra_writes"]

T = TypeVar("T")

ExtraWrites = tuple[Sequence[Write], Sequence[Expect]]
"""Writes, and the conditions on which they and the change are made."""

Beside = Callable[[T], ExtraWrites]
"""Returns the writes to add to a change, given its result. It is called before the change is made,
and again for each attempt; when it raises, nothing is changed.
"""


def extra_writes(beside: Beside[T] | None, result: T) -> ExtraWrites:
    """Returns what `beside` adds to a change with this result: nothing without it."""
    return ((), ()) if beside is None else beside(result)


def all_of(*besides: Beside[T] | None) -> Beside[T]:
    """Returns what adds the writes of several."""

    def decide(result: T) -> ExtraWrites:
        decided = [extra_writes(beside, result) for beside in besides]
        writes = [write for some, _ in decided for write in some]
        return writes, [condition for _, some in decided for condition in some]

    return decide
