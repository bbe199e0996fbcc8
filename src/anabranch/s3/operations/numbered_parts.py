"""Reads of one part of an object by its number in the multipart upload.

An object that was not uploaded in parts, or whose parts are unknown, counts as a single part.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.http.ranges import ByteRange
from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.object_checksum import ObjectChecksum, stored_checksum
from anabranch.model.uploads.object_parts import ObjectParts, stored_parts
from anabranch.s3.headers.object_headers import part_range
from anabranch.s3.protocol.errors import S3Error

__all__ = ["NumberedPart", "numbered_part", "part_checksum"]


class NumberedPart(NamedTuple):
    """A part: its byte range, None for an empty object; its checksum, None if it is not stored; and
    the object's number of parts, 0 if it was not uploaded in parts.
    """

    range: ByteRange | None
    checksum: ObjectChecksum | None
    parts_count: int


def numbered_part(number: int, entry: Entry) -> NumberedPart:
    """Returns the part with a number. Raises S3Error: InvalidPart if there is none."""
    parts = stored_parts(entry)
    if parts is None:
        return NumberedPart(part_range(number, entry.size), stored_checksum(entry), 0)
    count = len(parts.sizes)
    if number > count:
        raise S3Error("InvalidPart")
    checksum = part_checksum(parts, number)
    start, length = sum(parts.sizes[: number - 1]), parts.sizes[number - 1]
    part = ByteRange(start, length, entry.size) if entry.size else None
    return NumberedPart(part, checksum, count)


def part_checksum(parts: ObjectParts, number: int) -> ObjectChecksum | None:
    """Returns the checksum of a part, None if it is not stored."""
    return ObjectChecksum(parts.algorithm, parts.checksum(number)) if parts.algorithm else None
