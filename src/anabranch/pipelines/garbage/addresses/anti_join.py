"""Unmarked: which objects of a listing have no living hash, in bounded memory; and the reverse.

Living hashes are taken in shares of the number line, each sorted at once and searched for all of
the listing, a group at a time; the hashes of a share that no group has found are absent.
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

__all__ = ["SHARE", "Comparison", "compare", "dead_objects", "intersect", "is_in"]

_GROUP = 1 << 20
_TABLE_BITS = 22

SHARE = 1 << 25
"""About how many hashes are sorted at once: half a gigabyte with what sorting takes."""


class Comparison(NamedTuple):
    """What a listing and living hashes have not in common: for each object of the listing, in
    order, whether it is `dead`; and the sorted hashes that are `absent` from it.
    """

    dead: npt.NDArray[np.bool_]
    absent: Hashes


def compare(
    listing: Listing, living: Sequence[Hashes], progress: Progress, share: int = SHARE
) -> Comparison:
    """Compares a listing with the hashes of some sorted arrays. Young objects are never dead, and
    not absent.
    """
    total = sum(len(hashes) for hashes in living)
    shares = max(1, -(-total // share))
    dead: list[npt.NDArray[np.bool_]] = []
    absent: list[Hashes] = []
    progress.begin("comparing", shares)
    for number in range(shares):
        known = _Known(_between(living, _bound(number, shares), _bound(number + 1, shares)))
        for place, flags in enumerate(parallel_map(known.strangers, _groups(listing))):
            if number == 0:
                dead.append(flags)
            else:
                dead[place] &= flags
        for hashes in listing.young_hashes:
            known.find(np.sort(hashes))
        absent.append(known.not_found())
        progress.advance(1)
    flags = np.concatenate([np.empty(0, np.bool_), *dead])
    return Comparison(flags, np.concatenate([np.empty(0, np.uint64), *absent]))


def dead_objects(listing: Listing, dead: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """Yields the objects of a listing that are dead, in order."""
    first = 0
    for batch in listing.batches():
        yield batch.filter(pa.array(dead[first : first + batch.num_rows]))
        first += batch.num_rows


def intersect(one: Hashes, other: Hashes) -> bool:
    """Returns whether two sorted arrays have a hash in common."""
    few, many = sorted((one, other), key=len)
    return len(few) > 0 and bool(_places(few, many)[1].any())


class _Known:
    """Sorted hashes, with repeats, and which of them were found; used by several threads."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._found = np.zeros(len(hashes), np.bool_)

    def strangers(self, group: list[Hashes]) -> npt.NDArray[np.bool_]:
        """Returns which of some hashes are not among these."""
        hashes = np.concatenate(group)
        if not len(self._hashes):
            return np.ones(len(hashes), np.bool_)
        ordered = np.sort(hashes)
        return ~_in_order(hashes, ordered, self.find(ordered))

    def find(self, ordered: Hashes) -> npt.NDArray[np.bool_]:
        """Returns which of some sorted hashes are among these, and remembers them."""
        if not len(self._hashes):
            return np.zeros(len(ordered), np.bool_)
        places, inside = _places(ordered, self._hashes)
        self._found[places if inside.all() else places[inside]] = True
        return inside

    def not_found(self) -> Hashes:
        """Returns the hashes that were not found, each once."""
        # of a hash that is there several times the first is found
        distinct = self._hashes != np.concatenate([~self._hashes[:1], self._hashes[:-1]])
        absent: Hashes = self._hashes[distinct & ~self._found]
        return absent


def _groups(listing: Listing) -> Iterator[list[Hashes]]:
    """Yields the hashes of a listing, those of some batches together."""
    group: list[Hashes] = []
    for batch in listing.batches():
        group.append(batch.column("hash").to_numpy())
        if sum(map(len, group)) >= _GROUP:
            yield group
            group = []
    if group:
        yield group


def is_in(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    """Returns for each hash whether it is among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    ordered = np.sort(hashes)
    return _in_order(hashes, ordered, _places(ordered, known)[1])


def _in_order(
    hashes: Hashes, ordered: Hashes, inside: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Returns for each hash what `inside` says of the same hash among the `ordered` ones.

    Sorting numbers alone takes a quarter of the time of sorting them with their places, which only
    those need that are not known, commonly few.
    """
    if inside.all():
        return inside
    strangers = ordered[~inside]
    # a table of leading bits tells most of the others apart at once
    shift = np.uint64(64 - _TABLE_BITS)
    table = np.zeros(1 << _TABLE_BITS, np.bool_)
    table[strangers >> shift] = True
    doubtful = np.flatnonzero(table[hashes >> shift])
    order = doubtful[np.argsort(hashes[doubtful])]
    found = np.ones(len(hashes), np.bool_)
    found[order] = ~_places(hashes[order], strangers)[1]
    return found


def _places(hashes: Hashes, known: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Returns where sorted hashes are among known ones, the first place of each, and which of them
    are there at all. Each is found close to the one before, most of them in the processor's cache.
    """
    places = np.searchsorted(known, hashes)
    places[places == len(known)] = 0
    return places, known[places] == hashes


def _bound(number: int, shares: int) -> int:
    return (number << 64) // shares


def _between(living: Sequence[Hashes], low: int, high: int) -> Hashes:
    """Returns all living hashes from `low` to below `high`, sorted."""
    pieces = [np.empty(0, np.uint64)]
    for hashes in living:
        first = 0 if low == 0 else np.searchsorted(hashes, np.uint64(low))
        last = len(hashes) if high == 1 << 64 else np.searchsorted(hashes, np.uint64(high))
        pieces.append(hashes[first:last])
    together = np.concatenate(pieces)
    together.sort()
    return together
