"""Anti-join of a listing with reachable hashes, in both directions and in bounded memory.

The reachable hashes are split into partitions by value. Each partition is sorted and searched for
all listed hashes, in groups. Listed objects that no partition has are dead; hashes of a partition
that no group has matched are absent from the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.listing import Listing
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["PARTITION_HASHES", "Comparison", "compare", "filter_dead", "intersect", "is_in"]
__all__ += ["search"]

_GROUP = 1 << 20
_TABLE_BITS = 22
_FEW = 1000
"""So many hashes are searched in any order sooner than they are sorted."""

PARTITION_HASHES = 1 << 25
"""The number of hashes of a partition, which takes half a gigabyte to sort."""


class Comparison(NamedTuple):
    """The result of the anti-join: for each listed object, in order, whether it is `dead`; and the
    sorted hashes that are `absent` from the listing.
    """

    dead: npt.NDArray[np.bool_]
    absent: Hashes


def compare(
    listing: Listing,
    reachable: Sequence[Hashes],
    progress: Progress,
    partition_hashes: int = PARTITION_HASHES,
) -> Comparison:
    """Compares a listing with sorted arrays of reachable hashes. Young objects are neither dead nor
    absent.
    """
    total = sum(len(hashes) for hashes in reachable)
    partitions = max(1, -(-total // partition_hashes))
    dead: list[npt.NDArray[np.bool_]] = []
    absent: list[Hashes] = []
    progress.begin("comparing", partitions)
    for number in range(partitions):
        low, high = _bound(number, partitions), _bound(number + 1, partitions)
        partition = _Partition(_between(reachable, low, high))
        for group, flags in enumerate(parallel_map(partition.unmatched, _groups(listing))):
            if number == 0:
                dead.append(flags)
            else:
                dead[group] &= flags
        for hashes in listing.young_hashes:
            partition.match(np.sort(hashes))
        absent.append(partition.absent())
        progress.advance(1)
    flags = np.concatenate([np.empty(0, np.bool_), *dead])
    return Comparison(flags, np.concatenate([np.empty(0, np.uint64), *absent]))


def filter_dead(listing: Listing, dead: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """Yields the dead objects of a listing, in order, given a flag for each listed object."""
    first = 0
    for batch in listing.batches():
        yield batch.filter(pa.array(dead[first : first + batch.num_rows]))
        first += batch.num_rows


def intersect(one: Hashes, other: Hashes) -> bool:
    """Returns whether two sorted arrays have a hash in common."""
    few, many = sorted((one, other), key=len)
    return len(few) > 0 and bool(search(few, many)[1].any())


class _Partition:
    """Sorted reachable hashes, with duplicates, and which of them were matched. Several threads may
    use it.
    """

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._matched = np.zeros(len(hashes), np.bool_)

    def unmatched(self, group: list[Hashes]) -> npt.NDArray[np.bool_]:
        """Returns for each hash of a group whether it is not in the partition."""
        hashes = np.concatenate(group)
        if not len(self._hashes):
            return np.ones(len(hashes), np.bool_)
        if len(hashes) <= _FEW:
            return ~self.match(hashes)
        ordered = np.sort(hashes)
        return ~_in_order(hashes, ordered, self.match(ordered))

    def match(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Returns for each of some hashes whether it is in the partition, and marks the hashes of
        the partition that are among them as matched. Many should be sorted.
        """
        if not len(self._hashes):
            return np.zeros(len(hashes), np.bool_)
        positions, inside = search(hashes, self._hashes)
        self._matched[positions if inside.all() else positions[inside]] = True
        return inside

    def absent(self) -> Hashes:
        """Returns the distinct hashes that were not matched."""
        # only the first of equal hashes is matched
        is_first = self._hashes != np.concatenate([~self._hashes[:1], self._hashes[:-1]])
        absent: Hashes = self._hashes[is_first & ~self._matched]
        return absent


def _groups(listing: Listing) -> Iterator[list[Hashes]]:
    """Yields the hashes of a listing, those of several batches in a group."""
    group: list[Hashes] = []
    for batch in listing.batches():
        group.append(batch.column("hash").to_numpy())
        if sum(map(len, group)) >= _GROUP:
            yield group
            group = []
    if group:
        yield group


def is_in(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    """Returns for each hash whether it is among the known hashes, which are sorted."""
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    if len(hashes) <= _FEW:
        return search(hashes, known)[1]
    ordered = np.sort(hashes)
    return _in_order(hashes, ordered, search(ordered, known)[1])


def _in_order(
    hashes: Hashes, ordered: Hashes, inside: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Returns the flags of `hashes` in their own order, given `ordered`, the sorted hashes, and
    `inside`, the flags of these.

    Sorting hashes alone takes a quarter of the time of sorting them with their positions. Positions
    are needed only for hashes whose flag is not set, which are usually few.
    """
    if inside.all():
        return inside
    outside = ordered[~inside]
    # a table of leading bits rules out most of the other hashes
    shift = np.uint64(64 - _TABLE_BITS)
    table = np.zeros(1 << _TABLE_BITS, np.bool_)
    table[outside >> shift] = True
    possible = np.flatnonzero(table[hashes >> shift])
    order = possible[np.argsort(hashes[possible])]
    flags = np.ones(len(hashes), np.bool_)
    flags[order] = ~search(hashes[order], outside)[1]
    return flags


def search(hashes: Hashes, known: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Returns for each hash its first position among the known hashes, which are sorted and not
    empty, and whether it is among them. Sorted hashes are searched near each other, mostly in the
    processor's cache.
    """
    positions = np.searchsorted(known, hashes)
    positions[positions == len(known)] = 0
    return positions, known[positions] == hashes


def _bound(number: int, partitions: int) -> int:
    return (number << 64) // partitions


def _between(reachable: Sequence[Hashes], low: int, high: int) -> Hashes:
    """Returns all reachable hashes from `low` to below `high`, sorted."""
    pieces = [np.empty(0, np.uint64)]
    for hashes in reachable:
        first = 0 if low == 0 else np.searchsorted(hashes, np.uint64(low))
        last = len(hashes) if high == 1 << 64 else np.searchsorted(hashes, np.uint64(high))
        pieces.append(hashes[first:last])
    merged = np.concatenate(pieces)
    merged.sort()
    return merged
