"""Candidates: objects that a run found dead, with the time when a run first found them dead.

Only objects with generated addresses can be candidates: `data/XID/XID`, optionally followed by the
token of a linked address; and files in areas of tables, `tables/AREA/…`. An object's creation time
is the later of the store's modification time and the time in its XID, because the clocks of the
store and of the server may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.pipelines.column_hashes import Hashes, fixed_length_texts, sorted_by_hash
from anabranch.pipelines.garbage.addresses.anti_join import search
from anabranch.pipelines.garbage.addresses.listing import LISTING
from anabranch.pipelines.garbage.addresses.table_files import in_areas

__all__ = [
    "CANDIDATES",
    "EarlierCandidates",
    "candidates",
    "creation_times",
    "earlier_candidates",
    "found_since",
    "may_be_candidates",
]

CANDIDATES = LISTING.append(pa.field("since", pa.int64(), nullable=False))
"""A candidate; `since` is the time when a run first found it dead, in seconds since 1970."""

_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)] = np.arange(32)
_TOKEN = np.zeros(256, np.bool_)
_TOKEN[[*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"]] = True

_FOLDER, _NAME, _PLAIN, _LINKED = slice(5, 25), slice(26, 46), 46, 90
"""Positions of the two XIDs in an address, and its length without and with a token."""

_TIME_DIGITS, _DIGIT_BITS, _EXCESS_BITS = 7, 5, 3
"""The digits of an XID that encode its time, the bits of each, and the excess over 32 bits."""


class EarlierCandidates(NamedTuple):
    """The candidates of an earlier run: sorted hashes of addresses, and when they were first found
    dead, in seconds since 1970.
    """

    hashes: Hashes
    since: npt.NDArray[np.int64]

    def first_found(self, hashes: Hashes, default: int) -> npt.NDArray[np.int64]:
        """Returns for each hash when it was first found dead, or the default."""
        if not len(self.hashes):
            return np.full(len(hashes), default, np.int64)
        positions, found = search(hashes, self.hashes)
        return np.where(found, self.since[positions], default)


def earlier_candidates(batches: Iterable[pa.RecordBatch]) -> EarlierCandidates:
    """Returns the candidates of an earlier run, given batches of CANDIDATES."""
    return EarlierCandidates(*sorted_by_hash(batches, "since"))


def candidates(
    dead: Iterable[pa.RecordBatch], earlier: EarlierCandidates, *, before: int, now: int
) -> Iterator[pa.RecordBatch]:
    """Yields the dead objects that can be candidates, as CANDIDATES. `since` is taken from the
    earlier run, unless the object was stored later, and is at most `now`.
    """
    for batch in dead:
        old = batch.filter(pa.array(may_be_candidates(batch.column("address"), before)))
        since = pa.array(earlier.first_found(old.column("hash").to_numpy(), now))
        columns = [old.column(field.name) for field in LISTING]
        since = found_since(since, old.column("mtime"), now)
        yield pa.RecordBatch.from_arrays([*columns, since], schema=CANDIDATES)


def found_since(since: pa.Int64Array, stored: pa.Int64Array, now: int) -> pa.Int64Array:
    """Returns when objects were first found dead, at most `now`, given when an earlier run found
    those with their names dead, or null, and when they were stored: names of files of tables may be
    used again.
    """
    known = pc.min_element_wise(pc.fill_null(since, now), now)
    return pc.if_else(pc.greater(stored, known), now, known)


def may_be_candidates(addresses: pa.StringArray, before: int) -> npt.NDArray[np.bool_]:
    """Returns for each address of a dead object that is not kept whether it can be a candidate:
    files of tables, which have no time in their names, and what has an earlier one.
    """
    created = creation_times(addresses)
    return in_areas(addresses) | ((created >= 0) & (created < before))


def creation_times(addresses: pa.StringArray) -> npt.NDArray[np.int64]:
    """Returns the times in the XIDs of addresses, in seconds since 1970; -1 for addresses that are
    not in the format of generated ones.
    """
    created = np.full(len(addresses), -1, np.int64)
    for length in (_PLAIN, _LINKED):
        indexes, rows = fixed_length_texts(addresses, length)
        digits = _DIGITS[rows[:, :_PLAIN]]
        valid = (rows[:, :5] == np.frombuffer(b"data/", np.uint8)).all(axis=1)
        valid &= (rows[:, 25] == ord("/")) & (digits[:, _FOLDER] < 32).all(axis=1)  # noqa: PLR2004
        valid &= (digits[:, _NAME] < 32).all(axis=1)  # noqa: PLR2004  digits of base32hex
        if length == _LINKED:
            valid &= (rows[:, _PLAIN] == ord(",")) & _TOKEN[rows[:, _PLAIN + 1 :]].all(axis=1)
        time_bits = np.zeros(len(rows), np.int64)
        for digit in range(_TIME_DIGITS):
            time_bits = time_bits << _DIGIT_BITS | digits[:, _NAME.start + digit]
        created[indexes[valid]] = time_bits[valid] >> _EXCESS_BITS
    return created
