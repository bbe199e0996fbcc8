"""Format of the records of a journal, and the reader of its files after a crash.

A segment is a sequence of records that is overwritten from the start for each generation. The
number of the generation distinguishes current records from the remains of earlier generations
behind them. The fields of a record, integers in little-endian:

     8  identity of the segment, random
     8  number of the generation
     1  kind: 0 start of a generation, 1 a block, 2 a tombstone of a deleted block
     2  length of the path
     4  length of the body
     8  position of the first record of the batch that was written together with this one
    16  MD5 of the body
     4  CRC-32 of all the above and the path
        path, relative to the store's folder, in UTF-8
        body

A batch is synced as a whole, so everything before a complete later batch was durable. This
distinguishes damage from the torn end that a power loss leaves: no complete later record follows a
torn one.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "IDENTITY_BYTES",
    "Damage",
    "Record",
    "Records",
    "encode",
    "encode_start",
    "read_records",
]

IDENTITY_BYTES = 8

_HEAD = struct.Struct("<8sQBHIQ16s")
_CRC = struct.Struct("<I")
_PATH_AT = _HEAD.size + _CRC.size
_START, _BODY, _TOMBSTONE = 0, 1, 2
_NO_DIGEST = bytes(16)


class Record(NamedTuple):
    """A stored block, or without a body, a deleted one; `digest` is the MD5. One that is `shared`
    may be stored again by another writer while it is deleted; this is not in the file.
    """

    path: str
    digest: bytes
    body: bytes | None
    shared: bool = False


class Damage(NamedTuple):
    """Position of a damaged record; `path` is empty if it cannot be read."""

    position: int
    path: str
    digest: bytes


class Records(NamedTuple):
    """Records of a segment, in the order of writing, and its damaged ones."""

    records: list[Record]
    damaged: list[Damage]


class _Head(NamedTuple):
    position: int
    generation: int
    kind: int
    path: str
    digest: bytes
    batch_start: int
    body_start: int
    end: int


def encode_start(identity: bytes, generation: int) -> bytes:
    """Returns the record that starts a generation."""
    return _head_bytes(identity, generation, _START, b"", 0, 0, _NO_DIGEST)


def encode(
    identity: bytes, generation: int, batch_start: int, record: Record
) -> tuple[bytes, bytes]:
    """Returns the bytes of a record: its head and its body."""
    path, body = record.path.encode(), record.body
    if body is None:
        return _head_bytes(identity, generation, _TOMBSTONE, path, 0, batch_start, _NO_DIGEST), b""
    return _head_bytes(
        identity, generation, _BODY, path, len(body), batch_start, record.digest
    ), body


def read_records(data: bytes, identity: bytes) -> Records:
    """Returns the records of the current generation, given all bytes of a segment."""
    heads = list(_heads(data, identity))
    generation = max((head.generation for head in heads), default=0)
    records: list[Record] = []
    damaged: list[Damage] = []
    durable = end = 0
    for head in heads:
        if head.generation != generation:
            continue
        if head.position > end:
            damaged.append(Damage(end, "", b""))
        durable, end = max(durable, head.batch_start), head.end
        body = data[head.body_start : head.end]
        if head.kind == _TOMBSTONE:
            records.append(Record(head.path, head.digest, None))
        elif head.kind == _BODY and head.end <= len(data) and _md5(body) == head.digest:
            records.append(Record(head.path, head.digest, body))
        elif head.kind == _BODY:
            damaged.append(Damage(head.position, head.path, head.digest))
    return Records(records, [damage for damage in damaged if damage.position < durable])


def _head_bytes(
    identity: bytes,
    generation: int,
    kind: int,
    path: bytes,
    length: int,
    batch_start: int,
    digest: bytes,
) -> bytes:
    head = _HEAD.pack(identity, generation, kind, len(path), length, batch_start, digest)
    return head + _CRC.pack(zlib.crc32(path, zlib.crc32(head))) + path


def _heads(data: bytes, identity: bytes) -> Iterator[_Head]:
    """Yields the valid heads of the records of all generations."""
    at = 0
    while (at := data.find(identity, at)) >= 0:
        head = _head(data, at)
        if head is None:
            at += 1
        else:
            yield head
            at = head.end


def _head(data: bytes, at: int) -> _Head | None:
    if at + _PATH_AT > len(data):
        return None
    _, generation, kind, path_length, length, batch_start, digest = _HEAD.unpack_from(data, at)
    body_start = at + _PATH_AT + path_length
    path = data[at + _PATH_AT : body_start]
    (checksum,) = _CRC.unpack_from(data, at + _HEAD.size)
    if zlib.crc32(path, zlib.crc32(data[at : at + _HEAD.size])) != checksum:
        return None
    try:
        name = path.decode()
    except UnicodeDecodeError:
        return None
    end = body_start + length
    return _Head(at, generation, kind, name, digest, batch_start, body_start, end)


def _md5(body: bytes) -> bytes:
    return hashlib.md5(body, usedforsecurity=False).digest()
