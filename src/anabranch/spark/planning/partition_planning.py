"""Divides the ranges of trees into partitions, one for each task.

The ranges of a tree are sorted and do not overlap, so any sequence of them is a tree, too. For a
comparison of trees, ranges that all of them share are dropped first. The others are grouped by
overlap, so that each key is in one partition only. `tree_parts` also divides inside of ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.spark.planning.key_range import ALL_KEYS, KeyRange

__all__ = [
    "ENTRIES_PER_TASK",
    "DiffPartition",
    "Range",
    "Ranges",
    "list_ranges",
    "overlapping_ranges",
    "partition_diff",
    "partition_ranges",
]

ENTRIES_PER_TASK = 500_000
"""The default number of entries of a task. A task takes one or two seconds for them, much longer
than its start.
"""


class Range(NamedTuple):
    """The kernel's RangeInfo as a tuple, which can be pickled."""

    id: str
    min_key: bytes
    max_key: bytes
    entries: int
    size: int


Ranges = Sequence[Range]
"""Ranges of one tree, in order of their keys."""


class DiffPartition(NamedTuple):
    """The ranges of two trees that one task compares."""

    left: Ranges
    right: Ranges


def list_ranges(tree: kernel.Tree, keys: KeyRange = ALL_KEYS) -> list[Range]:
    """Returns the ranges of a tree that may contain some of these keys, in order."""
    return [
        Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)
        for info in tree.ranges()
        if keys.overlaps(info.min_key, info.max_key)
    ]


def partition_ranges(ranges: Iterable[Range], entries: int = ENTRIES_PER_TASK) -> list[Ranges]:
    """Returns partitions of about `entries` entries each, and at least one range."""
    partitions: list[list[Range]] = []
    remaining = 0
    for each in ranges:
        if remaining <= 0:
            partitions.append([])
            remaining = entries
        partitions[-1].append(each)
        remaining -= each.entries
    return list(partitions)


def partition_diff(
    left: Iterable[Range], right: Iterable[Range], entries: int = ENTRIES_PER_TASK
) -> list[DiffPartition]:
    """Returns the ranges to compare, in partitions of about `entries` entries each. No key is in
    two partitions, and all keys that differ are in one.
    """
    partitions: list[DiffPartition] = []
    remaining = 0
    for before, after in overlapping_ranges([left, right]):
        if remaining <= 0:
            partitions.append(DiffPartition((), ()))
            remaining = entries
        old = partitions[-1]
        partitions[-1] = DiffPartition((*old.left, *before), (*old.right, *after))
        remaining -= sum(each.entries for each in (*before, *after))
    return partitions


def overlapping_ranges(trees: Iterable[Iterable[Range]]) -> Iterator[Sequence[Ranges]]:
    """Yields the smallest groups of ranges such that ranges of different groups do not overlap, in
    order: those of each tree, without ranges that all trees share.
    """
    trees = [list(tree) for tree in trees]
    shared = set.intersection(*({each.id for each in tree} for tree in trees))
    sides = [[each for each in tree if each.id not in shared] for tree in trees]
    by_key = sorted(
        ((each, side) for side, ranges in enumerate(sides) for each in ranges),
        key=lambda pair: pair[0].min_key,
    )
    group: list[list[Range]] = [[] for _ in sides]
    last = b""
    for each, side in by_key:
        if any(group) and each.min_key > last:
            yield group
            group = [[] for _ in sides]
        group[side].append(each)
        last = max(last, each.max_key)
    if any(group):
        yield group
