"""Unmarked: which objects of a listing have no living hash, in bounded memory; and the reverse.

Living hashes are taken in shares of the number line, each sorted at once and asked for all of the
listing that falls into it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.pipelines.garbage.address_hashes import Hashes, distinct
from anabranch.pipelines.garbage.listing import Listing
from anabranch.pipelines.garbage.watching import Watching
from anabranch.pipelines.side_by_side import side_by_side

__all__ = ["SHARE", "absent", "intersect", "is_in", "unmarked"]

_GROUP = 1 << 20
_TABLE_BITS = 22

SHARE = 1 << 25
"""About how many hashes are sorted at once: half a gigabyte with what sorting takes."""


def unmarked(
    listing: Listing, living: Sequence[Hashes], watching: Watching, share: int = SHARE
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of a listing, in order, whose hashes are in none of the sorted arrays."""
    total = sum(len(hashes) for hashes in living)
    shares = max(1, -(-total // share))
    dead: list[npt.NDArray[np.bool_]] = []
    watching.begin("comparing", shares)
    for number in range(shares):
        known = _between(living, _bound(number, shares), _bound(number + 1, shares))
        found = side_by_side(partial(_not_in, known), _groups(listing))
        for place, flags in enumerate(found):
            if number == 0:
                dead.append(flags)
            else:
                dead[place] &= flags
        watching.advance(1)
    flags = np.concatenate([np.empty(0, np.bool_), *dead])
    first = 0
    for batch in listing.batches():
        yield batch.filter(pa.array(flags[first : first + batch.num_rows]))
        first += batch.num_rows


def absent(
    listing: Listing, living: Sequence[Hashes], watching: Watching, share: int = SHARE
) -> Hashes:
    """Returns the hashes of some sorted arrays, sorted, that no object of a listing has, young ones
    included.
    """
    total = max(sum(len(hashes) for hashes in living), listing.objects)
    shares = max(1, -(-total // share))
    found: list[Hashes] = []
    watching.begin("looking for missing objects", shares)
    for number in range(shares):
        low, high = _bound(number, shares), _bound(number + 1, shares)
        known = _between(living, low, high)
        there = _listed_between(listing, low, high)
        found.append(known[~_find(known, there)] if len(there) else known)
        watching.advance(1)
    return distinct(found)


def intersect(one: Hashes, other: Hashes) -> bool:
    """Returns whether two sorted arrays have a hash in common."""
    few, many = sorted((one, other), key=len)
    return len(few) > 0 and bool(_find(few, many).any())


def _listed_between(listing: Listing, low: int, high: int) -> Hashes:
    """Returns the hashes of listed objects from `low` to below `high`, sorted."""
    pieces = [np.empty(0, np.uint64)]
    groups = (batch.column("hash").to_numpy() for batch in listing.batches())
    for hashes in itertools.chain(groups, listing.young_hashes):
        inside = hashes >= np.uint64(low)
        if high < 1 << 64:
            inside &= hashes < np.uint64(high)
        pieces.append(hashes[inside])
    together = np.concatenate(pieces)
    together.sort()
    return together


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


def _not_in(known: Hashes, group: list[Hashes]) -> npt.NDArray[np.bool_]:
    return ~is_in(np.concatenate(group), known)


def is_in(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    """Returns for each hash whether it is among the known ones, which are sorted.

    Sorting numbers alone takes a quarter of the time of sorting them with their places, which only
    those need that are not known, commonly few.
    """
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    ordered = np.sort(hashes)
    inside = _find(ordered, known)
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
    found[order] = ~_find(hashes[order], strangers)
    return found


def _find(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    """Returns the same of hashes that are sorted, too: each is then found close to the one before,
    most of them in the processor's cache.
    """
    places = np.searchsorted(known, hashes)
    places[places == len(known)] = 0
    found: npt.NDArray[np.bool_] = known[places] == hashes
    return found


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
