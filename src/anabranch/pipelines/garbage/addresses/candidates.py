"""Candidates: objects that are dead, as far as one run can tell, and since when that is known.

Only what looks like an object of ours can be one, `data/XID/XID`, perhaps with the token of a
linked address behind it. An object is as old as the store says or as the time in its XID, whichever
is later: the clock of the store and that of the server that named it may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.pipelines.column_hashes import Hashes, fixed_length_texts, hash_addresses
from anabranch.pipelines.garbage.addresses.listing import LISTING

__all__ = ["CANDIDATES", "NONE_KNOWN", "Known", "candidates", "known_candidates", "named_at"]

CANDIDATES = LISTING.append(pa.field("since", pa.int64(), nullable=False))
"""A candidate: `since` is when a run first found it dead, in seconds since 1970."""

_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)] = np.arange(32)
_TOKEN = np.zeros(256, np.bool_)
_TOKEN[[*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"]] = True

_FOLDER, _NAME, _PLAIN, _LINKED = slice(5, 25), slice(26, 46), 46, 90
"""Where the two XIDs of an address stand, and how long one is, without a token and with one."""

_TIME_PLACES, _BITS, _SPARE = 7, 5, 3
"""The digits of an XID that hold a time: 32 bits and three more."""


class Known(NamedTuple):
    """What an earlier run has found dead: sorted hashes of addresses, and since when."""

    hashes: Hashes
    since: npt.NDArray[np.int64]

    def since_of(self, hashes: Hashes, otherwise: int) -> npt.NDArray[np.int64]:
        """Returns for each hash since when it is known, `otherwise` if it is not."""
        if not len(self.hashes):
            return np.full(len(hashes), otherwise, np.int64)
        places = np.searchsorted(self.hashes, hashes)
        places[places == len(self.hashes)] = 0
        return np.where(self.hashes[places] == hashes, self.since[places], otherwise)


NONE_KNOWN = Known(np.empty(0, np.uint64), np.empty(0, np.int64))


def known_candidates(batches: Iterable[pa.RecordBatch]) -> Known:
    """Returns what candidates of an earlier run tell."""
    hashes, since = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in batches:
        hashes.append(hash_addresses(batch.column("address")))
        since.append(batch.column("since").to_numpy())
    together = np.concatenate(hashes)
    order = np.argsort(together)
    return Known(together[order], np.concatenate(since)[order])


def candidates(
    dead: Iterable[pa.RecordBatch], known: Known, *, before: int, now: int
) -> Iterator[pa.RecordBatch]:
    """Yields those of the dead objects that are ours and were named before a time, with the time
    since when they are known to be dead, at most `now`.
    """
    for batch in dead:
        named = named_at(batch.column("address"))
        old = batch.filter(pa.array((named >= 0) & (named < before)))
        since = known.since_of(old.column("hash").to_numpy(), now)
        columns = [old.column(field.name) for field in LISTING]
        yield pa.RecordBatch.from_arrays(
            [*columns, pa.array(np.minimum(since, now))], schema=CANDIDATES
        )


def named_at(addresses: pa.StringArray) -> npt.NDArray[np.int64]:
    """Returns the times in the XIDs of addresses, in seconds since 1970; -1 for those that do not
    look like ours.
    """
    named = np.full(len(addresses), -1, np.int64)
    for length in (_PLAIN, _LINKED):
        where, rows = fixed_length_texts(addresses, length)
        digits = _DIGITS[rows[:, :_PLAIN]]
        ours = (rows[:, :5] == np.frombuffer(b"data/", np.uint8)).all(axis=1)
        ours &= (rows[:, 25] == ord("/")) & (digits[:, _FOLDER] < 32).all(axis=1)  # noqa: PLR2004
        ours &= (digits[:, _NAME] < 32).all(axis=1)  # noqa: PLR2004  digits of base32hex
        if length == _LINKED:
            ours &= (rows[:, _PLAIN] == ord(",")) & _TOKEN[rows[:, _PLAIN + 1 :]].all(axis=1)
        total = np.zeros(len(rows), np.int64)
        for place in range(_TIME_PLACES):
            total = total << _BITS | digits[:, _NAME.start + place]
        named[where[ours]] = total[ours] >> _SPARE
    return named
