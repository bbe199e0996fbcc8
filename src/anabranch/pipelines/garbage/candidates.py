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
import pyarrow.compute as pc

from anabranch.pipelines.garbage.address_hashes import Hashes, hashes_of
from anabranch.pipelines.garbage.listing import LISTING

__all__ = ["CANDIDATES", "NONE_KNOWN", "Known", "candidates", "known_of"]

CANDIDATES = LISTING.append(pa.field("since", pa.int64(), nullable=False))
"""A candidate: `since` is when a run first found it dead, in seconds since 1970."""

_OURS = r"^data/[0-9a-v]{20}/[0-9a-v]{20}(,[A-Za-z0-9_-]{43})?$"
_XID_TIME = (26, 33)
"""Where the characters of an address stand that hold a time: 32 bits and three more."""

_BITS, _SPARE = 5, 3
_DIGITS = np.zeros(256, np.uint64)
_DIGITS[np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)] = np.arange(32)


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


def known_of(batches: Iterable[pa.RecordBatch]) -> Known:
    """Returns what candidates of an earlier run tell."""
    hashes, since = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in batches:
        hashes.append(hashes_of(batch.column("address")))
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
        ours = batch.filter(pc.match_substring_regex(batch.column("address"), _OURS))
        old = ours.filter(pa.array(_named_at(ours.column("address")) < before))
        since = known.since_of(old.column("hash").to_numpy(), now)
        columns = [old.column(field.name) for field in LISTING]
        yield pa.RecordBatch.from_arrays(
            [*columns, pa.array(np.minimum(since, now))], schema=CANDIDATES
        )


def _named_at(addresses: pa.StringArray) -> npt.NDArray[np.int64]:
    """Returns the times in the XIDs of addresses of ours, in seconds since 1970."""
    first, end = _XID_TIME
    texts = pc.utf8_slice_codeunits(addresses, first, end)
    width = end - first
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1) if len(texts) else [0]
    raw = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    rows = raw[offsets[0] : offsets[-1]].reshape(len(texts), width)
    total = np.zeros(len(texts), np.uint64)
    for place in range(width):
        total = total << np.uint64(_BITS) | _DIGITS[rows[:, place]]
    return (total >> np.uint64(_SPARE)).astype(np.int64)
