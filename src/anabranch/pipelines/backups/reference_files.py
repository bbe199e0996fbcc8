"""The rows of a key-value store in files: written from a snapshot, read into a SQLite file.

A file has the text "ANAREFS1", and compressed by zlib the rows: partition, key and value, each
after its length in four bytes, little-endian. Four more partitions have the rules of garbage
collection by their addresses, the key files of a data folder by their names, after the partition of
its repository each tree whose objects were required, and the sizes of the files of tables of the
Iceberg catalog by their addresses.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import StoreSnapshot, Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.pipelines.backups.manifest import Manifest, ReferenceFile
from anabranch.pipelines.backups.target import BackupTarget

__all__ = [
    "AREAS",
    "FILES",
    "KEYS",
    "REQUIRED",
    "StoredRow",
    "read_rows",
    "write_rows",
    "write_store",
]

FILES, KEYS = "anabranch-backup-files", "anabranch-backup-keys"
"""The partitions of files of the installation."""
REQUIRED = "anabranch-backup-required"
"""The partition of the trees whose objects were required."""
AREAS = "anabranch-backup-areas"
"""The partition of the files of tables of the Iceberg catalog."""

_MAGIC = b"ANAREFS1"
_LENGTH = struct.Struct("<I")
_FILE_BYTES = 32 << 20
"""How many bytes of rows a file has, before they are compressed."""
_BATCH = 1000


class StoredRow(NamedTuple):
    """A row of a key-value store."""

    partition: str
    key: bytes
    value: bytes


def write_rows(
    target: BackupTarget,
    backup: str,
    snapshot: StoreSnapshot | None,
    files: Mapping[str, Mapping[bytes, bytes]],
    *,
    first: int = 0,
) -> list[ReferenceFile]:
    """Writes all rows of a snapshot, if there is one, and `files` by partition, and returns the
    files with them, whose numbers begin with `first`.
    """
    written = []
    for number, rows in enumerate(_groups(_all_rows(snapshot, files)), first):
        name = f"references-{number:04}"
        content = _MAGIC + zlib.compress(b"".join(map(_encode, rows)), 1)
        target.blocks.put(target.address(backup, name), [content])
        digest = hashlib.sha256(content).hexdigest()
        written.append(ReferenceFile(name, digest, len(rows)))
    return written


def read_rows(target: BackupTarget, manifest: Manifest) -> Iterator[StoredRow]:
    """Yields the rows of a backup. Raises Gone for a missing file, Corrupt for a damaged one."""
    for each in manifest.files:
        address = target.address(manifest.id, each.name)
        content = target.blocks.read(address)
        if hashlib.sha256(content).hexdigest() != each.sha256:
            raise Corrupt(f"{address}: its digest differs from the manifest's", path=address)
        yield from _decode(zlib.decompress(content[len(_MAGIC) :]))


def write_store(path: Path, rows: Iterable[StoredRow]) -> None:
    """Writes rows to a new SQLite file."""
    with closing(SQLiteStore(path)) as store:
        iterator = iter(rows)
        while batch := list(itertools.islice(iterator, _BATCH)):
            store.apply([Write(*row) for row in batch])


def _all_rows(
    snapshot: StoreSnapshot | None, files: Mapping[str, Mapping[bytes, bytes]]
) -> Iterator[StoredRow]:
    if snapshot is not None:
        for partition, _ in snapshot.partitions():
            name = partition.decode("utf-8", "surrogateescape")
            for key, value in snapshot.scan(name):
                yield StoredRow(name, key, value)
    for name, contents in files.items():
        for key, value in contents.items():
            yield StoredRow(name, key, value)


def _groups(rows: Iterator[StoredRow]) -> Iterator[list[StoredRow]]:
    """Yields rows in groups that are not much longer than a file."""
    group: list[StoredRow] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row.partition) + len(row.key) + len(row.value)
        if size >= _FILE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _encode(row: StoredRow) -> bytes:
    parts = (row.partition.encode("utf-8", "surrogateescape"), row.key, row.value)
    return b"".join(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))


def _decode(data: bytes) -> Iterator[StoredRow]:
    position = 0

    def part() -> bytes:
        nonlocal position
        (length,) = _LENGTH.unpack_from(data, position)
        start = position + _LENGTH.size
        position = start + length
        return data[start:position]

    while position < len(data):
        partition, key, value = part(), part(), part()
        yield StoredRow(partition.decode("utf-8", "surrogateescape"), key, value)
