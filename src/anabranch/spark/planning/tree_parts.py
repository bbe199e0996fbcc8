"""Divides the ranges of trees into parts of about equal size, also inside of ranges.

Small ranges are grouped. A large one is divided by its keys: each task finds those of its part in
the index of the range, so that the driver reads no range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from anabranch.spark.planning.partition_planning import Range, Ranges, overlapping_ranges

__all__ = ["MAX_PARTS", "TreePart", "entries_of", "group_parts"]

MAX_PARTS = 16
"""The largest number of parts of a range. Each reads the index, a hundredth of the range."""

_ENTRY_BYTES = 100
"""The usual size of an entry. An index takes more of a range whose entries are smaller."""


class TreePart(NamedTuple):
    """The part `number` of `parts` of the keys in ranges of several trees."""

    trees: tuple[Ranges, ...]
    number: int = 0
    parts: int = 1


def entries_of(ranges: Iterable[Range]) -> int:
    """Returns the number of entries of ranges."""
    return sum(each.entries for each in ranges)


def group_parts(trees: Sequence[Iterable[Range]], entries: int) -> list[list[TreePart]]:
    """Returns the parts of the ranges in which trees differ, in order of their keys: in lists, each
    of one part of about `entries` entries, or of the parts of larger ranges. No key is in two
    parts. Of the entries of several trees, only those of the largest count.
    """
    groups: list[list[TreePart]] = []
    small: list[list[Range]] = [[] for _ in trees]

    def close() -> None:
        if any(small):
            groups.append([TreePart(tuple(tuple(ranges) for ranges in small))])
        for ranges in small:
            ranges.clear()

    for group in overlapping_ranges(trees):
        parts = _number_of_parts(max(group, key=entries_of), entries)
        if parts > 1:
            close()
            divided = tuple(tuple(ranges) for ranges in group)
            groups.append([TreePart(divided, number, parts) for number in range(parts)])
            continue
        for ranges, more in zip(small, group, strict=True):
            ranges.extend(more)
        if _size(small) >= entries:
            close()
    close()
    return groups


def _number_of_parts(ranges: Ranges, entries: int) -> int:
    total = entries_of(ranges)
    most = MAX_PARTS * sum(each.size for each in ranges) // (_ENTRY_BYTES * total)
    return min(MAX_PARTS, most, round(total / entries))


def _size(group: Sequence[Ranges]) -> int:
    return max(map(entries_of, group))
