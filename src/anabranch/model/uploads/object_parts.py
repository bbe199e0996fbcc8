"""The sizes and checksums of the parts of an uploaded object, stored in its system metadata.

    ::anabranch::parts    90015098 AQVjcmMzMgGAgMACAg…

The text consists of the first 8 digits of the object's ETag, and the base64 of

    01, length of the algorithm's name, the name; how many runs of parts of equal size follow;
    of each run the size and the number of parts, all numbers as varints; the parts' checksums

so that 10,000 parts of equal size and their CRC32s take 54 kB. Checksums that would take more than
MAX_CHECKSUM_BYTES are omitted; sizes always fit.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.object_checksum import ETAG_DIGITS
from anabranch.model.uploads.part import MAX_PARTS

__all__ = ["MAX_CHECKSUM_BYTES", "ObjectParts", "object_parts", "parts_metadata", "stored_parts"]

MAX_CHECKSUM_BYTES = 128 * 1024
"""The maximum size of the checksums of all parts in an object's metadata, in bytes."""

KEY = "::anabranch::parts"

_FORMAT = 1
_MAX_TEXT_LENGTH = 4 * MAX_CHECKSUM_BYTES
_MAX_SHIFT = 63


class ObjectParts(msgspec.Struct, frozen=True):
    """The sizes of an object's parts, in bytes and in order, and their checksums by one algorithm,
    concatenated; the algorithm and the checksums are empty if they are not known.
    """

    sizes: tuple[int, ...]
    algorithm: str = ""
    checksums: bytes = b""

    def checksum(self, number: int) -> str:
        """Returns the checksum of the part of that number, from 1, in base64; "" where it is not
        known.
        """
        length = len(self.checksums) // len(self.sizes)
        return base64.b64encode(self.checksums[(number - 1) * length : number * length]).decode()


def object_parts(
    sizes: Iterable[int], checksums: Sequence[tuple[str, str] | None] = ()
) -> ObjectParts:
    """Returns the parts of these sizes with their checksums, each an algorithm and base64. The
    checksums are omitted if they are too long or not all parts have one of the same algorithm.
    """
    known = tuple(sizes)
    names = {checksum and checksum[0] for checksum in checksums}
    raw = b"".join(base64.b64decode(checksum[1]) for checksum in checksums if checksum is not None)
    name = names.pop() if len(names) == 1 else None
    if name is None or len(checksums) != len(known) or len(raw) > MAX_CHECKSUM_BYTES:
        return ObjectParts(known)
    return ObjectParts(known, name, raw)


def parts_metadata(etag: str, parts: ObjectParts) -> dict[str, str]:
    """Returns the system metadata that store the parts of an object with this ETag."""
    runs = [(size, len(list(equal))) for size, equal in groupby(parts.sizes)]
    name = parts.algorithm.encode()
    raw = bytearray([_FORMAT, len(name), *name])
    for number in (len(runs), *(number for run in runs for number in run)):
        _put_varint(raw, number)
    raw += parts.checksums
    return {KEY: f"{etag[:ETAG_DIGITS]} {base64.b64encode(raw).decode()}"}


def stored_parts(entry: Entry) -> ObjectParts | None:
    """Returns the parts stored with an object; None without any, and if they are malformed or
    belong to other bytes.
    """
    text = entry.system_metadata.get(KEY, "")
    etag, _, packed = text[:_MAX_TEXT_LENGTH].partition(" ")
    if len(etag) != ETAG_DIGITS or not entry.checksum.startswith(etag):
        return None
    try:
        parts = _unpack(base64.b64decode(packed, validate=True))
    except (binascii.Error, ValueError, IndexError):
        return None
    return parts if sum(parts.sizes) == entry.size else None


def _unpack(raw: bytes) -> ObjectParts:
    """Returns the parts of a record. Raises ValueError and IndexError for a malformed one."""
    if raw[0] != _FORMAT:
        raise ValueError("another format")
    at = 2 + raw[1]
    name = raw[2:at].decode("ascii")
    runs, at = _varint(raw, at)
    sizes: list[int] = []
    for _ in range(runs):
        size, at = _varint(raw, at)
        count, at = _varint(raw, at)
        if not 0 < count <= MAX_PARTS - len(sizes):
            raise ValueError("too many parts")
        sizes += [size] * count
    checksums = raw[at:]
    if not sizes or len(checksums) % len(sizes) or bool(name) != bool(checksums):
        raise ValueError("checksums that are not as many as the parts")
    return ObjectParts(tuple(sizes), name, checksums)


def _put_varint(out: bytearray, number: int) -> None:
    while number >= 1 << 7:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Returns the number at an offset of a record, and the offset after it."""
    number = shift = 0
    while True:
        byte = raw[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 1 << 7:
            return number, at
        shift += 7
        if shift > _MAX_SHIFT:
            raise ValueError("too long a number")
