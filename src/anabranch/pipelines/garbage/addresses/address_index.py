"""Address index: the addresses of one range that are in the collected namespace, as sorted hashes.

A range never changes: its id is the digest of its records, which include the addresses. Therefore
it is read once, and its index is cached for later runs. Each resolver has its own folder, in which
each range has a file with the range's id as name:

    "ANAMARK1"  sha256 of the rest (32 bytes)  rows of the range (8 bytes)  hashes, sorted, distinct

All numbers are little-endian. A damaged file is replaced: an index that lacks an address would let
its object be deleted.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.errors.dependency_errors import reason_of
from anabranch.files.private_folders import make_private_folder
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.checked_file import (
    checked_body,
    with_check,
    write_whole,
)
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver
from anabranch.pipelines.garbage.addresses.range_tree import range_tree

__all__ = [
    "AddressIndex",
    "damage_reported",
    "decode_index",
    "encode_index",
    "index_tree",
    "is_plain",
    "require_rows",
    "resolver_folder",
]

_MAGIC = b"ANAMARK1"
_ROWS = 8

_DATA = b"data/"
_PLAIN = b"\x0a\x2e" + _DATA
"""The first bytes of an encoded entry with a generated address: lakeFS's message begins with the
address, field 1, of 46 bytes.
"""

_ADDRESS_END = 2 + 46


class AddressIndex:
    """The address index of ranges, with one resolver. `locate` returns the path of a range's file
    by its id.
    """

    def __init__(
        self, folder: Path, resolver: AddressResolver, locate: Callable[[str], str]
    ) -> None:
        self._resolver = resolver
        self._locate = locate
        self._folder = folder / resolver_folder(resolver)
        make_private_folder(self._folder)
        self.used: set[str] = set()

    def load(self, info: kernel.RangeInfo) -> tuple[Hashes, bool]:
        """Returns the sorted hashes of a range's addresses, and whether the range was read because
        they were not cached. Raises Gone for a missing range and Corrupt for a damaged one.
        """
        self.used.add(info.id)
        path = self._folder / info.id
        cached = _read_index(path, info.count)
        if cached is not None:
            return cached, False
        hashes = self._read(info)
        write_whole(path, encode_index(info.count, hashes))
        return hashes, True

    def remove_unused(self) -> None:
        """Removes the cached hashes of ranges that were not loaded."""
        for path in self._folder.iterdir():
            if path.name not in self.used:
                path.unlink(missing_ok=True)

    def _read(self, info: kernel.RangeInfo) -> Hashes:
        table_path = self._locate(info.id)
        with range_tree(info, table_path) as tree:
            hashes, rows = index_tree(tree, self._resolver, table_path)
        require_rows(rows, info.count, table_path)
        return hashes


def require_rows(rows: int, expected: int, path: str) -> None:
    """Raises Corrupt if the table of a range has another number of entries than its tree says."""
    if rows != expected:
        raise Corrupt(f"{path}: holds {rows} objects where its tree says {expected}", path=path)


def index_tree(tree: kernel.Tree, resolver: AddressResolver, source: str) -> tuple[Hashes, int]:
    """Returns the sorted hashes of the addresses in the namespace of all entries of a tree, and the
    number of entries. Raises Corrupt, with `source` as the path, for a damaged tree.
    """
    with damage_reported(source):
        indexed = _index_encoded(tree, resolver)
        return _index_decoded(tree, resolver) if indexed is None else indexed


@contextmanager
def damage_reported(source: str) -> Iterator[None]:
    """Raises Corrupt, with `source` as the path, if a tree that is read is damaged."""
    try:
        yield
    except pa.ArrowInvalid as error:
        reason = reason_of(error).removeprefix("External error: ")
        raise Corrupt(f"{source}: the table is damaged: {reason}", path=source) from error


def _index_decoded(tree: kernel.Tree, resolver: AddressResolver) -> tuple[Hashes, int]:
    pieces: list[Hashes] = []
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan()):
        rows += batch.num_rows
        columns = (batch.column("physical_address"), batch.column("address_type"))
        pieces += [hash_addresses(relative) for _, relative in resolver.resolve(*columns)]
    return distinct(pieces), rows


def _index_encoded(tree: kernel.Tree, resolver: AddressResolver) -> tuple[Hashes, int] | None:
    """Returns the index of a tree if all its entries have generated addresses, else None.

    The message of such an entry begins with its address, `data/XID/XID`, which has no scheme and is
    therefore relative. Reading it without decoding the message takes half the time.
    """
    if resolver.within or resolver.around:
        return None
    pieces: list[Hashes] = []
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan(decoded=False)):
        entries = batch.column("data")
        if not pc.all(is_plain(entries)).as_py():
            return None
        rows += batch.num_rows
        if resolver.within is not None:
            addresses = pc.binary_slice(entries, len(_PLAIN) - len(_DATA), _ADDRESS_END)
            pieces.append(hash_addresses(addresses))
    return distinct(pieces), rows


def is_plain(entries: pa.BinaryArray) -> pa.BooleanArray:
    """Returns for each encoded entry whether it has a generated address, which is relative."""
    return pc.and_(
        pc.starts_with(entries, _PLAIN),
        pc.greater_equal(pc.binary_length(entries), _ADDRESS_END),
    )


def _read_index(path: Path, rows: int) -> Hashes | None:
    """Returns the hashes in a file, or None if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            raw = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (FileNotFoundError, ValueError):  # ValueError: the file is empty
        return None
    return decode_index(raw, rows)


def decode_index(raw: memoryview, rows: int) -> Hashes | None:
    """Returns the hashes in the content of a file, or None if it is damaged or is not that of a
    range with this many rows.
    """
    body = checked_body(_MAGIC, raw)
    if body is None or len(body) < _ROWS or int.from_bytes(body[:_ROWS], "little") != rows:
        return None
    return np.frombuffer(body[_ROWS:], "<u8")


def encode_index(rows: int, hashes: Hashes) -> bytes:
    """Returns the content of the file of a range with this many rows."""
    return with_check(_MAGIC, rows.to_bytes(_ROWS, "little") + hashes.astype("<u8").tobytes())


def resolver_folder(resolver: AddressResolver) -> str:
    """Returns the name of the folder of a resolver."""
    return hashlib.sha256(resolver.cache_key.encode()).hexdigest()[:16]
