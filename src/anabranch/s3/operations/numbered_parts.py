"""A part of an object, read by its number: the nth of those that it was uploaded in.

An object that was stored in one piece, or whose parts are not known, is its own first part.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.model.entry import Entry
from anabranch.model.object_checksum import ObjectChecksum, kept_checksum
from anabranch.model.object_parts import ObjectParts, kept_parts
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.object_headers import ByteRange, part_range

__all__ = ["NumberedPart", "numbered_part", "part_checksum"]


class NumberedPart(NamedTuple):
    """Which bytes a part is, None for all of an empty object; its checksum, if it is kept; and how
    many parts the object has, 0 where it has none of its own.
    """

    range: ByteRange | None
    checksum: ObjectChecksum | None
    parts_count: int


def numbered_part(number: int, entry: Entry) -> NumberedPart:
    """Returns the part of an object of that number. Raises S3Error: InvalidPart."""
    parts = kept_parts(entry)
    if parts is None:
        return NumberedPart(part_range(number, entry.size), kept_checksum(entry), 0)
    count = len(parts.sizes)
    if number > count:
        raise S3Error("InvalidPart")
    checksum = part_checksum(parts, number)
    start, length = sum(parts.sizes[: number - 1]), parts.sizes[number - 1]
    part = ByteRange(start, length, entry.size) if entry.size else None
    return NumberedPart(part, checksum, count)


def part_checksum(parts: ObjectParts, number: int) -> ObjectChecksum | None:
    """Returns the checksum of a part, None where it is not kept."""
    return ObjectChecksum(parts.algorithm, parts.checksum(number)) if parts.algorithm else None
