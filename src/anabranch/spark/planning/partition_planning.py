"""Partitions the ranges of trees into pieces, one for each task.

The ranges of a tree are sorted and do not overlap, so any sequence of them is a tree, too. For a
difference, ranges that both sides share are dropped first. The others are grouped where they
overlap, so that each key is in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.model.page import upper_bound

__all__ = [
    "ENTRIES",
    "Cut",
    "Pair",
    "Range",
    "cut",
    "cut_difference",
    "cut_together",
    "list_ranges",
]

ENTRIES = 500_000
"""The entries that a task reads: one or two seconds of work, so that starting the task does not
matter.
"""


class Range(NamedTuple):
    """The kernel's RangeInfo, as a tuple that can be pickled."""

    id: str
    min_key: bytes
    max_key: bytes
    entries: int
    size: int


Cut = Sequence[Range]
"""Ranges in order."""


class Pair(NamedTuple):
    """The ranges that one task compares."""

    left: Cut
    right: Cut


def list_ranges(tree: kernel.Tree, prefix: bytes = b"") -> list[Range]:
    """Returns the ranges of a tree that may hold keys with a prefix, in order."""
    end = upper_bound(prefix)
    return [
        Range(found.id, found.min_key, found.max_key, found.count, found.estimated_size)
        for found in tree.ranges()
        if found.max_key >= prefix and (end is None or found.min_key < end)
    ]


def cut(ranges: Iterable[Range], entries: int = ENTRIES) -> list[Cut]:
    """Returns pieces of about this many entries, and at least one range."""
    pieces: list[list[Range]] = []
    room = 0
    for found in ranges:
        if room <= 0:
            pieces.append([])
            room = entries
        pieces[-1].append(found)
        room -= found.entries
    return list(pieces)


def cut_difference(
    left: Iterable[Range], right: Iterable[Range], entries: int = ENTRIES
) -> list[Pair]:
    """Returns the ranges to compare, in pieces of about this many entries. No key is in two pieces,
    and no key that differs is missing.
    """
    return [Pair(*piece) for piece in cut_together([left, right], entries)]


def cut_together(trees: Iterable[Iterable[Range]], entries: int = ENTRIES) -> list[tuple[Cut, ...]]:
    """Returns the ranges to compare of any number of trees, in pieces with a part of each tree.
    Ranges that all trees share are left out.
    """
    sides = [list(tree) for tree in trees]
    same = set.intersection(*({found.id for found in side} for side in sides))
    pieces: list[tuple[Cut, ...]] = []
    room = 0
    for group in _overlapping([[each for each in side if each.id not in same] for side in sides]):
        if room <= 0:
            pieces.append(((),) * len(sides))
            room = entries
        pieces[-1] = tuple((*old, *new) for old, new in zip(pieces[-1], group, strict=True))
        room -= sum(found.entries for cut in group for found in cut)
    return pieces


def _overlapping(sides: Sequence[Cut]) -> Iterator[Sequence[Cut]]:
    """Yields the smallest groups of ranges that do not overlap with those of another group, in
    order.
    """
    ranges = sorted(
        ((found, side) for side, cut in enumerate(sides) for found in cut),
        key=lambda pair: pair[0].min_key,
    )
    group: list[list[Range]] = [[] for _ in sides]
    last = b""
    for found, side in ranges:
        if any(group) and found.min_key > last:
            yield group
            group = [[] for _ in sides]
        group[side].append(found)
        last = max(last, found.max_key)
    if any(group):
        yield group
