"""Rows of a given listing that name one object several times, as two inventories in one do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.listing import Listing

__all__ = ["unflag_repeated"]


def unflag_repeated(listing: Listing, flags: npt.NDArray[np.bool_]) -> None:
    """Clears the flags of all rows with the same address but the newest. Needs eight bytes for each
    flagged row, and more only for those that are repeated.
    """
    repeated = _repeated_hashes(listing, flags)
    if not len(repeated):
        return
    hashes, mtimes, positions = [], [], []
    first = 0
    for batch in listing.batches():
        own = batch.column("hash").to_numpy()
        inside = np.flatnonzero(flags[first : first + len(own)] & is_in(own, repeated))
        hashes.append(own[inside])
        mtimes.append(batch.column("mtime").to_numpy()[inside])
        positions.append(first + inside)
        first += len(own)
    all_hashes, at = np.concatenate(hashes), np.concatenate(positions)
    order = np.lexsort((at, -np.concatenate(mtimes), all_hashes))
    ordered = all_hashes[order]
    others = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    flags[at[order[others]]] = False


def _repeated_hashes(listing: Listing, flags: npt.NDArray[np.bool_]) -> Hashes:
    """Returns the hashes of addresses with several flagged rows, sorted."""
    pieces, first = [np.empty(0, np.uint64)], 0
    for batch in listing.batches():
        own = batch.column("hash").to_numpy()
        pieces.append(own[flags[first : first + len(own)]])
        first += len(own)
    hashes = np.concatenate(pieces)
    hashes.sort()
    return distinct([hashes[1:][hashes[1:] == hashes[:-1]]])
