"""Pieces: the ranges of trees, cut into shares of tasks.

A tree's ranges follow one another and never overlap, so any run of them is a tree by itself. For a
difference, ranges of equal name on both sides are dropped first: what they hold is the same. The
others are taken together where they overlap, so that all of a key is in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.model.page import upper_bound

__all__ = ["ENTRIES", "Cut", "Pair", "Range", "cut", "cut_difference", "ranges_of"]

ENTRIES = 500_000
"""How many entries a task reads: a second's work or two, so that starting it does not count."""


class Range(NamedTuple):
    """The kernel's RangeInfo, as a tuple that goes to tasks."""

    id: str
    min_key: bytes
    max_key: bytes
    entries: int
    size: int


Cut = Sequence[Range]
"""Ranges in order."""


class Pair(NamedTuple):
    """What one task compares."""

    left: Cut
    right: Cut


def ranges_of(tree: kernel.Tree, prefix: bytes = b"") -> list[Range]:
    """Returns the ranges of a tree that may hold keys with a prefix, in order."""
    end = upper_bound(prefix)
    return [
        Range(found.id, found.min_key, found.max_key, found.count, found.estimated_size)
        for found in tree.ranges()
        if found.max_key >= prefix and (end is None or found.min_key < end)
    ]


def cut(ranges: Iterable[Range], entries: int = ENTRIES) -> list[Cut]:
    """Returns pieces of about so many entries, and one range at least."""
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
    """Returns what must be compared, in pieces of about so many entries. No key is in two of them,
    and none of those that differ is missing.
    """
    before, after = list(left), list(right)
    same = {found.id for found in before} & {found.id for found in after}
    pieces: list[Pair] = []
    room = 0
    for pair in _overlapping(
        [found for found in before if found.id not in same],
        [found for found in after if found.id not in same],
    ):
        if room <= 0:
            pieces.append(Pair((), ()))
            room = entries
        left_so_far, right_so_far = pieces[-1]
        pieces[-1] = Pair((*left_so_far, *pair.left), (*right_so_far, *pair.right))
        room -= sum(found.entries for found in (*pair.left, *pair.right))
    return pieces


def _overlapping(left: Cut, right: Cut) -> Iterator[Pair]:
    """Yields the smallest groups of ranges that overlap with no other's, in order."""
    sides = sorted(
        [(found, 0) for found in left] + [(found, 1) for found in right],
        key=lambda pair: pair[0].min_key,
    )
    group: tuple[list[Range], list[Range]] = ([], [])
    last = b""
    for found, side in sides:
        if any(group) and found.min_key > last:
            yield Pair(*group)
            group = ([], [])
        group[side].append(found)
        last = max(last, found.max_key)
    if any(group):
        yield Pair(*group)
