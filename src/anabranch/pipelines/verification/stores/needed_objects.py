"""The join of what references need with what the store lists: which entries deserve a second look.

Entries are marked in a file with a byte for each of them. Addresses are compared by 64 bits of
their hash: two that collide are looked at a second time, or, once in billions of objects, a missing
one is taken for the other.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.namespace import is_full
from anabranch.pipelines.verification.stores.entries import Entries
from anabranch.pipelines.verification.stores.spilled_rows import (
    LISTED,
    NEEDED,
    Rows,
    SpilledRows,
    partition_bits,
)

__all__ = [
    "ELSEWHERE",
    "READ",
    "SUSPECT",
    "Marks",
    "NeededObjects",
    "Needs",
    "are_inside",
    "distinct_roots",
    "marked",
    "needs_of",
]

SUSPECT, READ, ELSEWHERE = 1, 2, 4
"""The marks of entries: the object is not listed with this size; its bytes are read; it is outside
of what is listed.
"""

_FULL_BIT = np.uint64(63)
"""In the number of an entry whose address is stored in full. Such entries come last: only those of
relative addresses prove the MD5 of the bytes.
"""
_NUMBER = np.uint64((1 << 63) - 1)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Needs(NamedTuple):
    """What entries need: the hashes of the addresses of their objects, the sizes of these, which
    addresses are below the roots, and which are stored in full.
    """

    hashes: Hashes
    sizes: npt.NDArray[np.int64]
    inside: npt.NDArray[np.bool_]
    full: npt.NDArray[np.bool_]


class Marks(NamedTuple):
    """The marked entries, by number, and how many distinct objects were compared."""

    flags: npt.NDArray[np.uint8]
    objects: int


class NeededObjects:
    """The objects that entries need, and those that the store lists below `roots`, prefixes of
    addresses of which none begins with another. There are at most `rows` entries; files are below
    `folder`.
    """

    def __init__(self, folder: Path, roots: Sequence[str], rows: int) -> None:
        bits = partition_bits(rows)
        self._flags = folder / "marks"
        self._roots = roots
        self._rows = 0
        self._needed = SpilledRows(folder / "needed", bits, NEEDED)
        self._elsewhere = SpilledRows(folder / "elsewhere", bits, NEEDED)
        self._listed = SpilledRows(folder / "listed", bits, LISTED)

    def need(self, needs: Needs) -> None:
        """Adds entries, the next in number."""
        hashes, sizes, inside, full = needs
        numbers = np.arange(self._rows, self._rows + len(hashes), dtype=np.uint64)
        numbers |= full.astype(np.uint64) << _FULL_BIT
        self._rows += len(hashes)
        if inside.all():
            self._needed.add(hashes, sizes, numbers)
            return
        for spilled, chosen in ((self._needed, inside), (self._elsewhere, ~inside)):
            spilled.add(hashes[chosen], sizes[chosen], numbers[chosen])

    @property
    def rows(self) -> int:
        """The number of entries."""
        return self._rows

    def need_entries(self, entries: Entries) -> int:
        """Adds what entries need, and returns their number."""
        self.need(needs_of(entries, self._roots))
        return len(entries.paths)

    def list(self, addresses: pa.StringArray, sizes: pa.Int64Array) -> None:
        """Adds objects of the store."""
        self._listed.add(hash_addresses(addresses), sizes.to_numpy())

    def mark(self, sample: int | None, seed: int, *, elsewhere: int | None = 0) -> Marks:
        """Returns the marked entries: of each object that is not listed as it is needed one, and
        of the others those of a random `sample`, or all for None; of those that are outside of the
        roots, a sample of the size `elsewhere`.
        """
        if not self._rows:
            return Marks(np.zeros(0, np.uint8), 0)
        flags = np.memmap(self._flags, np.uint8, "w+", shape=(self._rows,))
        chosen, outside = _Sample(sample, seed), _Sample(elsewhere, seed)
        objects = 0
        for partition in range(self._needed.partitions):
            needed = _distinct(self._needed.read(partition))
            present = _is_listed(needed, self._listed.read(partition))
            flags[needed["row"][~present] & _NUMBER] = SUSPECT
            chosen.add(needed[present])
            away = _distinct(self._elsewhere.read(partition))
            outside.add(away)
            objects += len(needed) + len(away)
        flags[chosen.rows()] = READ
        flags[outside.rows()] = ELSEWHERE
        return Marks(flags, objects)


def needs_of(entries: Entries, roots: Sequence[str]) -> Needs:
    """Returns what entries need; `roots` are the prefixes of addresses that are listed, of which
    none begins with another, sorted. Entries that are stored relative to the repository are in its
    namespace, which is below a root.
    """
    inside = np.ones(len(entries.paths), np.bool_)
    full = is_full(entries.stored, entries.kinds)
    is_elsewhere = full.to_numpy(zero_copy_only=False)
    if is_elsewhere.any():
        inside[is_elsewhere] = are_inside(entries.addresses.filter(full), roots)
    hashes = hash_addresses(entries.addresses)
    return Needs(hashes, entries.sizes.to_numpy(), inside, is_elsewhere)


def are_inside(addresses: pa.StringArray, roots: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Returns for each address whether it is below a root."""
    texts = addresses.to_pylist()
    return np.fromiter((_is_inside(text, roots) for text in texts), np.bool_, len(texts))


def _is_inside(address: str, roots: Sequence[str]) -> bool:
    root = bisect.bisect_right(roots, address) - 1
    return root >= 0 and address.startswith(roots[root])


class _Sample:
    """The rows of a uniform sample of distinct hashes, or all."""

    def __init__(self, size: int | None, seed: int) -> None:
        self._size = size
        self._seed = np.uint64(seed)
        self._ranks = np.empty(0, np.uint64)
        self._rows = np.empty(0, np.uint64)
        self._all: list[npt.NDArray[np.uint64]] = []

    def add(self, rows: Rows) -> None:
        if self._size is None:
            self._all.append(rows["row"].copy())
            return
        ranks = np.concatenate([self._ranks, (rows["hash"] ^ self._seed) * _MIX])
        numbers = np.concatenate([self._rows, rows["row"]])
        order = np.argsort(ranks)[: self._size]
        self._ranks, self._rows = ranks[order], numbers[order]

    def rows(self) -> npt.NDArray[np.uint64]:
        return np.concatenate([self._rows, *self._all]) & _NUMBER


def distinct_roots(prefixes: Iterable[str]) -> list[str]:
    """Returns the prefixes that begin with no other, sorted."""
    roots: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not (roots and prefix.startswith(roots[-1])):
            roots.append(prefix)
    return roots


def _distinct(rows: Rows) -> Rows:
    """Returns the first row of each pair of hash and size, of rows that are sorted by the hash."""
    rows = rows[np.lexsort((rows["row"], rows["size"], rows["hash"]))]
    if not len(rows):
        return rows
    is_new = np.ones(len(rows), np.bool_)
    is_new[1:] = (rows["hash"][1:] != rows["hash"][:-1]) | (rows["size"][1:] != rows["size"][:-1])
    return rows[is_new]


def _is_listed(needed: Rows, listed: Rows) -> npt.NDArray[np.bool_]:
    """Returns for each needed object whether one of its hash and its size is listed first."""
    if not len(listed):
        return np.zeros(len(needed), np.bool_)
    positions = np.searchsorted(listed["hash"], needed["hash"])
    positions[positions == len(listed)] = 0
    found = listed[positions]
    present: npt.NDArray[np.bool_] = (found["hash"] == needed["hash"]) & (
        found["size"] == needed["size"]
    )
    return present


def marked(flags: npt.NDArray[np.uint8], start: int, rows: int) -> Iterator[tuple[int, int]]:
    """Yields (position, mark) of the marked ones of `rows` entries from the number `start` on."""
    part = flags[start : start + rows]
    for position in np.flatnonzero(part).tolist():
        yield position, int(part[position])
