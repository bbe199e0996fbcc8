"""Hashes of addresses: 64 bits each, computed over whole columns.

What lives is kept as hashes and not as texts: eight bytes an address instead of fifty, sorted and
searched as numbers. Two addresses of one hash make a dead object look alive, never the reverse: it
stays until its neighbour goes. Among a billion objects that happens to about one in twenty million.

Hashes are stored from run to run, so the function never changes: an address, filled with zero
bytes to whole words of 64 bits, little-endian, goes through a multiply-xor-rotate round for each
word, and MurmurHash3's last mixing (A. Appleby, public domain).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Hashes", "distinct", "fixed_length_texts", "hash_addresses"]

Hashes: TypeAlias = npt.NDArray[np.uint64]

_WORD = 8
_SEED = np.uint64(0x9E3779B97F4A7C15)
_ROUND_1 = np.uint64(0x87C37B91114253D5)
_ROUND_2 = np.uint64(0x4CF5AD432745937F)
_LAST_1 = np.uint64(0xFF51AFD7ED558CCD)
_LAST_2 = np.uint64(0xC4CEB9FE1A85EC53)
_TURN, _BACK, _SHIFT = np.uint64(31), np.uint64(33), np.uint64(33)


def hash_addresses(addresses: pa.StringArray) -> Hashes:
    """Returns the hash of each address; there must be no nulls."""
    count = len(addresses)
    if count == 0:
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(addresses.buffers()[1], np.int32, count + 1, addresses.offset * 4)
    kinds = np.unique(np.diff(offsets))
    if len(kinds) == 1:
        return _mixed(fixed_length_texts(addresses, int(kinds[0]))[1])
    found = np.empty(count, np.uint64)
    for length in kinds:
        where, rows = fixed_length_texts(addresses, int(length))
        found[where] = _mixed(rows)
    return found


def fixed_length_texts(
    texts: pa.StringArray, length: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Returns where the texts of so many bytes are, and the rows of a matrix of their bytes."""
    if not len(texts):
        return np.empty(0, np.int64), np.empty((0, length), np.uint8)
    _, offset_bytes, text = texts.buffers()
    offsets = np.frombuffer(offset_bytes, np.int32, len(texts) + 1, texts.offset * 4)
    raw = np.frombuffer(text or b"", np.uint8)
    where = np.flatnonzero(np.diff(offsets) == length)
    if len(where) == len(texts):
        return where, raw[offsets[0] : offsets[-1]].reshape(len(texts), length)
    return where, raw[offsets[where][:, None] + np.arange(length, dtype=np.int32)]


def distinct(pieces: Iterable[Hashes]) -> Hashes:
    """Returns all hashes of some arrays, each once, sorted."""
    together = np.sort(np.concatenate([np.empty(0, np.uint64), *pieces]))
    # numpy's own `unique` takes fifty times as long as the sort
    return together[np.flatnonzero(np.diff(together, prepend=~together[:1]))]


def _mixed(rows: npt.NDArray[np.uint8]) -> Hashes:
    """Returns the hashes of texts of one length, the rows of a matrix."""
    count, length = rows.shape
    words = -(-length // _WORD)
    filled = np.zeros((count, words * _WORD), np.uint8)
    filled[:, :length] = rows
    columns = filled.view("<u8").astype(np.uint64, copy=False)
    state = np.full(count, _SEED ^ np.uint64(length), np.uint64)
    for number in range(words):
        state ^= columns[:, number] * _ROUND_1
        state = (state << _TURN | state >> _BACK) * _ROUND_2
    state ^= state >> _SHIFT
    state *= _LAST_1
    state ^= state >> _SHIFT
    state *= _LAST_2
    return state ^ state >> _SHIFT
