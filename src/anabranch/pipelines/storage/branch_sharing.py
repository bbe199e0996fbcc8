"""What branches share: every distinct range of their heads is read once.

An address is a branch's own if all entries with it are in ranges, or copies of ranges, that only
this branch has. Most ranges of most branches are shared, and so are all their addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from anabranch import _kernel as kernel
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.storage.range_entries import RangeEntries
from anabranch.pipelines.storage.report import BranchStorage, Totals

__all__ = ["Sharing", "measure_branches"]

_SHARED = -1


class Sharing(NamedTuple):
    """The storage of each branch, the totals of all distinct addresses, and the hashes of all."""

    branches: list[BranchStorage]
    distinct: Totals
    hashes: Hashes


def measure_branches(
    heads: Mapping[str, Sequence[kernel.RangeInfo]],
    read: Callable[[kernel.RangeInfo], RangeEntries],
) -> Sharing:
    """Returns what branches have and share, given the ranges of their heads."""
    names = list(heads)
    owners: dict[str, int] = {}
    infos: dict[str, kernel.RangeInfo] = {}
    for number, name in enumerate(names):
        for info in heads[name]:
            infos[info.id] = info
            owners[info.id] = number if info.id not in owners else _SHARED
    range_bytes: dict[str, int] = {}
    hashes, sizes, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], []
    for range_id, info in infos.items():
        entries = read(info)
        range_bytes[range_id] = int(entries.sizes.sum())
        hashes.append(entries.hashes)
        sizes.append(entries.sizes)
        places.append(np.full(len(entries.sizes), owners[range_id], np.int32))
    all_hashes = np.concatenate(hashes)
    own, distinct = _own_addresses(
        all_hashes,
        np.concatenate(sizes),
        np.concatenate([np.empty(0, np.int32), *places]),
        len(names),
    )
    branches = [
        BranchStorage(
            branch=name,
            total=Totals(
                sum(info.count for info in heads[name]),
                sum(range_bytes[info.id] for info in heads[name]),
            ),
            unique=own[number],
        )
        for number, name in enumerate(names)
    ]
    return Sharing(branches, distinct, all_hashes)


def _own_addresses(
    hashes: np.ndarray, sizes: np.ndarray, owners: np.ndarray, branches: int
) -> tuple[list[Totals], Totals]:
    """Returns the totals of the addresses that only one branch has, by its number, and those of all
    distinct addresses.
    """
    order = np.argsort(hashes, kind="stable")
    hashes, sizes, owners = hashes[order], sizes[order], owners[order]
    starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))
    if not len(starts):
        return [Totals()] * branches, Totals()
    sizes = sizes[starts]
    least, most = np.minimum.reduceat(owners, starts), np.maximum.reduceat(owners, starts)
    is_own = (least == most) & (least != _SHARED)
    counts = np.bincount(least[is_own], minlength=branches)
    # as integers: a double holds no more than 8 PiB exactly
    byte_sums = np.zeros(branches, np.int64)
    np.add.at(byte_sums, least[is_own], sizes[is_own])
    own = [Totals(int(count), int(size)) for count, size in zip(counts, byte_sums, strict=True)]
    return own, Totals(len(starts), int(sizes.sum()))
