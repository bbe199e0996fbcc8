"""Writes that callers add to a change, made atomically with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec

from anabranch.keyvalue.contract import Expect, Write

__all__ = ["ExtraWrites", "ExtraWritesFor", "ForLast", "collect_extra_writes"]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

ExtraWrites = tuple[Sequence[Write], Sequence[Expect]]
"""Writes, and the conditions on which they and the change are made."""


class ExtraWritesFor(Protocol[T_contra]):
    """What is written with a change, or must hold for it."""

    def writes_for(self, result: T_contra, /) -> ExtraWrites:
        """Returns the writes to add to a change, given its result. It is called before the change
        is made, and again for each attempt; when it raises, nothing is changed.
        """


class ForLast(msgspec.Struct, frozen=True):
    """The extra writes for the last of several results."""

    part: ExtraWritesFor[object]

    def writes_for(self, results: Sequence[object], /) -> ExtraWrites:
        """Returns the writes for the last result."""
        return self.part.writes_for(results[-1])


def collect_extra_writes(parts: Iterable[ExtraWritesFor[T]], result: T) -> ExtraWrites:
    """Returns the writes that all parts add to a change with this result."""
    writes: list[Write] = []
    conditions: list[Expect] = []
    for part in parts:
        added, expect = part.writes_for(result)
        writes += added
        conditions += expect
    return writes, conditions
