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
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.dependency_errors import reason_of
from anabranch.errors import Corrupt
from anabranch.files.private_folders import make_private_folder
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["AddressIndex", "decode_index", "encode_index", "index_tree", "resolver_folder"]

_MAGIC = b"ANAMARK1"
_HEAD = len(_MAGIC) + 32
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
        _write_index(path, info.count, hashes)
        return hashes, True

    def remove_unused(self) -> None:
        """Removes the cached hashes of ranges that were not loaded."""
        for path in self._folder.iterdir():
            if path.name not in self.used:
                path.unlink(missing_ok=True)

    def _read(self, info: kernel.RangeInfo) -> Hashes:
        table_path = self._locate(info.id)
        with WorkFolder("gc") as folder, translate_errors():
            metarange_id = kernel.write_metarange([info], folder)
            paths = {metarange_id: f"{folder}/{metarange_id}", info.id: table_path}
            tree = kernel.Tables().tree(metarange_id, paths.__getitem__)
            hashes, rows = index_tree(tree, self._resolver, table_path)
        if rows != info.count:
            raise Corrupt(
                f"{table_path}: holds {rows} objects where its tree says {info.count}",
                path=table_path,
            )
        return hashes


def index_tree(tree: kernel.Tree, resolver: AddressResolver, source: str) -> tuple[Hashes, int]:
    """Returns the sorted hashes of the addresses in the namespace of all entries of a tree, and the
    number of entries. Raises Corrupt, with `source` as the path, for a damaged tree.
    """
    try:
        indexed = _index_encoded(tree, resolver)
        return _index_decoded(tree, resolver) if indexed is None else indexed
    except pa.ArrowInvalid as error:
        reason = reason_of(error).removeprefix("External error: ")
        raise Corrupt(f"{source}: the table is damaged: {reason}", path=source) from error


def _index_decoded(tree: kernel.Tree, resolver: AddressResolver) -> tuple[Hashes, int]:
    pieces: list[Hashes] = []
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan()):
        rows += batch.num_rows
        columns = (batch.column("physical_address"), batch.column("address_type"))
        pieces += [hash_addresses(column) for column in resolver.resolve(*columns)]
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
        plain = pc.and_(
            pc.starts_with(entries, _PLAIN),
            pc.greater_equal(pc.binary_length(entries), _ADDRESS_END),
        )
        if not pc.all(plain).as_py():
            return None
        rows += batch.num_rows
        if resolver.within is not None:
            addresses = pc.binary_slice(entries, len(_PLAIN) - len(_DATA), _ADDRESS_END)
            pieces.append(hash_addresses(addresses))
    return distinct(pieces), rows


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
    body = raw[_HEAD:]
    valid = (
        raw[: len(_MAGIC)] == _MAGIC
        and len(body) >= _ROWS
        and hashlib.sha256(body).digest() == raw[len(_MAGIC) : _HEAD]
        and int.from_bytes(body[:_ROWS], "little") == rows
    )
    return np.frombuffer(body[_ROWS:], "<u8") if valid else None


def encode_index(rows: int, hashes: Hashes) -> bytes:
    """Returns the content of the file of a range with this many rows."""
    body = rows.to_bytes(_ROWS, "little") + hashes.astype("<u8").tobytes()
    return _MAGIC + hashlib.sha256(body).digest() + body


def resolver_folder(resolver: AddressResolver) -> str:
    """Returns the name of the folder of a resolver."""
    return hashlib.sha256(resolver.cache_key.encode()).hexdigest()[:16]


def _write_index(path: Path, rows: int, hashes: Hashes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode_index(rows, hashes))
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
