"""Address index: the addresses of one range that are in the collected namespace, as sorted hashes.

A range never changes: its id is the digest of its records, addresses included. So it is read once
and its marks are kept for later runs, in a file named by the range in a folder of its own for each
way of reading:

    "ANAMARK1"  sha256 of the rest (32 bytes)  rows of the range (8 bytes)  hashes, sorted, distinct

all little-endian. A damaged file is written again: an index that had lost an address would let its
object be deleted.
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
from anabranch.errors import Corrupt
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.namespace import Reading
from anabranch.private_folders import make_private_folder
from anabranch.versioning.trees import translate_errors
from anabranch.work_folders import WorkFolder

__all__ = ["AddressIndex", "index_tree"]

_MAGIC = b"ANAMARK1"
_HEAD = len(_MAGIC) + 32
_ROWS = 8

_DATA = b"data/"
_PLAIN = b"\x0a\x2e" + _DATA
"""Field 1, 46 bytes, that begin so: lakeFS's message of an entry has its address first."""

_END = 2 + 46


class AddressIndex:
    """The marks of ranges, read one way. `locate` gives the path of a range's file by its id."""

    def __init__(self, folder: Path, reading: Reading, locate: Callable[[str], str]) -> None:
        self._reading = reading
        self._locate = locate
        self._folder = folder / hashlib.sha256(reading.name.encode()).hexdigest()[:16]
        make_private_folder(self._folder)
        self.used: set[str] = set()

    def of(self, found: kernel.RangeInfo) -> tuple[Hashes, bool]:
        """Returns the marks of a range, and whether it had to be read for them. Raises Gone for a
        range that is missing and Corrupt for a damaged one, naming it.
        """
        self.used.add(found.id)
        path = self._folder / found.id
        kept = _kept(path, found.count)
        if kept is not None:
            return kept, False
        hashes = self._read(found)
        _keep(path, found.count, hashes)
        return hashes, True

    def forget_unused(self) -> None:
        """Removes the marks of ranges that were not asked for."""
        for path in self._folder.iterdir():
            if path.name not in self.used:
                path.unlink(missing_ok=True)

    def _read(self, found: kernel.RangeInfo) -> Hashes:
        place = self._locate(found.id)
        with WorkFolder("gc") as folder, translate_errors():
            metarange_id = kernel.write_metarange([found], folder)
            paths = {metarange_id: f"{folder}/{metarange_id}", found.id: place}
            tree = kernel.Tables().tree(metarange_id, paths.__getitem__)
            hashes, rows = index_tree(tree, self._reading, place)
        if rows != found.count:
            raise Corrupt(
                f"{place}: holds {rows} objects where its tree says {found.count}", path=place
            )
        return hashes


def index_tree(tree: kernel.Tree, reading: Reading, place: str) -> tuple[Hashes, int]:
    """Returns the marks of all entries of a tree, and how many entries it has. Raises Corrupt,
    which names the place.
    """
    try:
        found = _plain_marks(tree, reading)
        return _marks(tree, reading) if found is None else found
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("External error: ")
        raise Corrupt(f"{place}: the table is damaged: {reason}", path=place) from error


def _marks(tree: kernel.Tree, reading: Reading) -> tuple[Hashes, int]:
    pieces: list[Hashes] = []
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan()):
        rows += batch.num_rows
        columns = (batch.column("physical_address"), batch.column("address_type"))
        pieces += [hash_addresses(column) for column in reading.relative(*columns)]
    return distinct(pieces), rows


def _plain_marks(tree: kernel.Tree, reading: Reading) -> tuple[Hashes, int] | None:
    """Returns the same where all entries are of objects that were uploaded, None elsewhere.

    The message of such an entry begins with its address, `data/XID/XID`, which is relative, as
    there is no scheme: it need not be decoded, which takes twice as long.
    """
    if reading.within or reading.around:
        return None
    pieces: list[Hashes] = []
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan(decoded=False)):
        entries = batch.column("data")
        plain = pc.and_(
            pc.starts_with(entries, _PLAIN), pc.greater_equal(pc.binary_length(entries), _END)
        )
        if not pc.all(plain).as_py():
            return None
        rows += batch.num_rows
        if reading.within is not None:
            pieces.append(hash_addresses(pc.binary_slice(entries, len(_PLAIN) - len(_DATA), _END)))
    return distinct(pieces), rows


def _kept(path: Path, rows: int) -> Hashes | None:
    """Returns the marks in a file, None if they are not there or not whole."""
    try:
        with path.open("rb") as file:
            raw = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (FileNotFoundError, ValueError):  # ValueError: it is empty
        return None
    body = raw[_HEAD:]
    whole = (
        raw[: len(_MAGIC)] == _MAGIC
        and len(body) >= _ROWS
        and hashlib.sha256(body).digest() == raw[len(_MAGIC) : _HEAD]
        and int.from_bytes(body[:_ROWS], "little") == rows
    )
    return np.frombuffer(body[_ROWS:], "<u8") if whole else None


def _keep(path: Path, rows: int, hashes: Hashes) -> None:
    body = rows.to_bytes(_ROWS, "little") + hashes.astype("<u8").tobytes()
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
