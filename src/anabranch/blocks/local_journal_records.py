"""The records of a journal of small blocks, and how they are read after a crash.

A journal is one record behind another, and is written from its beginning again and again: each time
it lives anew. What an earlier life has left behind the present one's records is told from them by
the number of the life. In order, with integers little-endian:

     8  the journal's identity, random
     8  number of the life
     1  kind: 0 a life begins, 1 a block, 2 a block that is no more
     2  length of the path
     4  length of the body
     8  where in the journal those records begin that were written together with this one
    16  MD5 of the body
     4  CRC-32 of all the above and the path
        path, relative to the store's folder, in UTF-8
        body

What was written together was synced together, so all before its beginning had been durable. That
tells damage from the torn end which a loss of power leaves: nothing whole that was written later
stands behind a torn record.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["IDENTITY_BYTES", "Damage", "Record", "Records", "beginning", "encode", "read_records"]

IDENTITY_BYTES = 8

_HEAD = struct.Struct("<8sQBHIQ16s")
_CRC = struct.Struct("<I")
_PATH_AT = _HEAD.size + _CRC.size
_BEGINS, _BODY, _GONE = 0, 1, 2
_NO_DIGEST = bytes(16)


class Record(NamedTuple):
    """A block that was stored, or with no body, one that is no more; `digest` is the MD5."""

    path: str
    digest: bytes
    body: bytes | None


class Damage(NamedTuple):
    """A place in a journal where there was a record; `path` is empty if it cannot be read."""

    position: int
    path: str
    digest: bytes


class Records(NamedTuple):
    """What a journal holds, in the order of writing, and what it held and is unreadable."""

    records: list[Record]
    damaged: list[Damage]


class _Head(NamedTuple):
    position: int
    life: int
    kind: int
    path: str
    digest: bytes
    begun: int
    body_start: int
    end: int


def beginning(identity: bytes, life: int) -> bytes:
    """Returns the record with which a life begins."""
    return _head_bytes(identity, life, _BEGINS, b"", 0, 0, _NO_DIGEST)


def encode(identity: bytes, life: int, begun: int, record: Record) -> tuple[bytes, bytes]:
    """Returns a record as it is written, in two pieces."""
    path, body = record.path.encode(), record.body
    if body is None:
        return _head_bytes(identity, life, _GONE, path, 0, begun, _NO_DIGEST), b""
    return _head_bytes(identity, life, _BODY, path, len(body), begun, record.digest), body


def read_records(data: bytes, identity: bytes) -> Records:
    """Returns the records of a journal's present life, given all of its bytes."""
    heads = list(_heads(data, identity))
    life = max((head.life for head in heads), default=0)
    records: list[Record] = []
    broken: list[Damage] = []
    durable = end = 0
    for head in heads:
        if head.life != life:
            continue
        if head.position > end:
            broken.append(Damage(end, "", b""))
        durable, end = max(durable, head.begun), head.end
        body = data[head.body_start : head.end]
        if head.kind == _GONE:
            records.append(Record(head.path, head.digest, None))
        elif head.kind == _BODY and head.end <= len(data) and _md5(body) == head.digest:
            records.append(Record(head.path, head.digest, body))
        elif head.kind == _BODY:
            broken.append(Damage(head.position, head.path, head.digest))
    return Records(records, [damage for damage in broken if damage.position < durable])


def _head_bytes(
    identity: bytes, life: int, kind: int, path: bytes, length: int, begun: int, digest: bytes
) -> bytes:
    head = _HEAD.pack(identity, life, kind, len(path), length, begun, digest)
    return head + _CRC.pack(zlib.crc32(path, zlib.crc32(head))) + path


def _heads(data: bytes, identity: bytes) -> Iterator[_Head]:
    """Yields what the records of all lives say of themselves, where that is whole."""
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
    _, life, kind, path_length, length, begun, digest = _HEAD.unpack_from(data, at)
    body_start = at + _PATH_AT + path_length
    path = data[at + _PATH_AT : body_start]
    (checksum,) = _CRC.unpack_from(data, at + _HEAD.size)
    if zlib.crc32(path, zlib.crc32(data[at : at + _HEAD.size])) != checksum:
        return None
    return _Head(at, life, kind, path.decode(), digest, begun, body_start, body_start + length)


def _md5(body: bytes) -> bytes:
    return hashlib.md5(body, usedforsecurity=False).digest()
