"""Hashes of addresses: 64 bits each, computed over whole columns.

Garbage collection stores referenced addresses as hashes: eight bytes each instead of about fifty,
sorted and searched as numbers. If two addresses have the same hash, an unreferenced object may be
kept, but a referenced one is never removed. Among a billion objects this affects about one in
twenty million.

Hashes are stored between runs, so the function must never change: the address is padded with zero
bytes to 64-bit little-endian words; each word goes through a multiply-xor-rotate round, and the
result through the finalizer of MurmurHash3 (A. Appleby, public domain).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Hashes", "distinct", "fixed_length_texts", "hash_addresses", "sorted_by_hash"]

Hashes: TypeAlias = npt.NDArray[np.uint64]

_WORD = 8
_SEED = np.uint64(0x9E3779B97F4A7C15)
_ROUND_1 = np.uint64(0x87C37B91114253D5)
_ROUND_2 = np.uint64(0x4CF5AD432745937F)
_LAST_1 = np.uint64(0xFF51AFD7ED558CCD)
_LAST_2 = np.uint64(0xC4CEB9FE1A85EC53)
_ROTATE_LEFT, _ROTATE_RIGHT, _SHIFT = np.uint64(31), np.uint64(33), np.uint64(33)


def hash_addresses(addresses: pa.StringArray) -> Hashes:
    """Returns the hash of each address; there must be no nulls."""
    count = len(addresses)
    if count == 0:
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(addresses.buffers()[1], np.int32, count + 1, addresses.offset * 4)
    lengths = np.unique(np.diff(offsets))
    if len(lengths) == 1:
        return _hash_rows(fixed_length_texts(addresses, int(lengths[0]))[1])
    hashes = np.empty(count, np.uint64)
    for length in lengths:
        indices, rows = fixed_length_texts(addresses, int(length))
        hashes[indices] = _hash_rows(rows)
    return hashes


def fixed_length_texts(
    texts: pa.StringArray, length: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Returns the indices of the texts of `length` bytes, and a matrix with their bytes as rows."""
    if not len(texts):
        return np.empty(0, np.int64), np.empty((0, length), np.uint8)
    _, offset_bytes, text = texts.buffers()
    offsets = np.frombuffer(offset_bytes, np.int32, len(texts) + 1, texts.offset * 4)
    raw = np.frombuffer(text or b"", np.uint8)
    indices = np.flatnonzero(np.diff(offsets) == length)
    if len(indices) == len(texts):
        return indices, raw[offsets[0] : offsets[-1]].reshape(len(texts), length)
    return indices, raw[offsets[indices][:, None] + np.arange(length, dtype=np.int32)]


def sorted_by_hash(
    batches: Iterable[pa.RecordBatch], column: str
) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Returns the sorted hashes of the column `address`, and another column in their order."""
    hashes, values = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in batches:
        hashes.append(hash_addresses(batch.column("address")))
        values.append(batch.column(column).to_numpy())
    unordered = np.concatenate(hashes)
    order = np.argsort(unordered)
    return unordered[order], np.concatenate(values)[order]


def distinct(arrays: Iterable[Hashes]) -> Hashes:
    """Returns the distinct hashes of all arrays, sorted."""
    hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *arrays]))
    # `np.unique` takes fifty times as long as this sort
    return hashes[np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))]


def _hash_rows(rows: npt.NDArray[np.uint8]) -> Hashes:
    """Returns the hashes of texts of equal length, given as the rows of a matrix."""
    count, length = rows.shape
    words = -(-length // _WORD)
    padded = np.zeros((count, words * _WORD), np.uint8)
    padded[:, :length] = rows
    columns = padded.view("<u8").astype(np.uint64, copy=False)
    state = np.full(count, _SEED ^ np.uint64(length), np.uint64)
    for word in range(words):
        state ^= columns[:, word] * _ROUND_1
        state = (state << _ROTATE_LEFT | state >> _ROTATE_RIGHT) * _ROUND_2
    state ^= state >> _SHIFT
    state *= _LAST_1
    state ^= state >> _SHIFT
    state *= _LAST_2
    return state ^ state >> _SHIFT
