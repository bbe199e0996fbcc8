"""The headers that go with an object, and the conditions and ranges that ask for it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import NamedTuple

from anabranch.errors import RangeNotSatisfiable
from anabranch.model.entry import Entry
from anabranch.s3.answer import header_safe
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.tag_sets import TAGGING, tags_in
from anabranch.s3.operations.user_metadata import metadata_headers

__all__ = [
    "ByteRange",
    "byte_range",
    "etag_of",
    "http_date",
    "object_headers",
    "part_range",
    "precise_time",
]

_SINGLE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")
_FIRST_YEAR, _LAST_YEAR = -62135596800, 253402300799

_AS_IT_IS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox; default-src 'none'"),
)
"""What a browser that follows a presigned URL must not do: the pages of the server have the same
origin as the objects.
"""


class ByteRange(NamedTuple):
    """A part of an object: from `start`, `length` bytes, of `size` in all."""

    start: int
    length: int
    size: int

    @property
    def content_range(self) -> str:
        """The value of the Content-Range header."""
        return f"bytes {self.start}-{self.start + self.length - 1}/{self.size}"


def byte_range(header: str, size: int) -> ByteRange | None:
    """Returns the part that a Range header asks for (RFC 9110, section 14), its end clamped to the
    object's; None, as in S3, for several ranges or what is no range at all.

    Raises RangeNotSatisfiable for a range beyond the end.
    """
    match = _SINGLE.fullmatch(header)
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match.groups()
    if first:
        start, end = int(first), min(int(last) if last else size - 1, size - 1)
        if last and int(last) < start:
            return None
    else:
        start, end = max(size - int(last), 0), size - 1
    if start > end:
        raise RangeNotSatisfiable("The requested range is not satisfiable", size=size)
    return ByteRange(start, end - start + 1, size)


def part_range(number: int, size: int) -> ByteRange | None:
    """Returns the part of an object of that number: an object is known as one part, the first;
    None for an empty object, which has no range. Raises S3Error: InvalidPart.
    """
    if number != 1:
        raise S3Error("InvalidPart")
    return ByteRange(0, size, size) if size else None


def etag_of(entry: Entry) -> str:
    """Returns the ETag of an object: its checksum in quotes."""
    checksum = header_safe(entry.checksum)
    return checksum if checksum.startswith('"') else f'"{checksum}"'


def object_headers(entry: Entry) -> list[tuple[str, str]]:
    """Returns the headers of an object beside its type and length."""
    headers = [
        ("ETag", etag_of(entry)),
        ("Last-Modified", http_date(entry.mtime)),
        ("Accept-Ranges", "bytes"),
        *metadata_headers(entry.metadata),
        *_AS_IT_IS,
    ]
    if TAGGING in entry.metadata:
        headers.append(("x-amz-tagging-count", str(len(tags_in(entry.metadata)))))
    return headers


@lru_cache(maxsize=1024)
def http_date(seconds: int) -> str:
    """Returns a time, in seconds since 1970, as HTTP writes it."""
    return format_datetime(datetime.fromtimestamp(_clamped(seconds), UTC), usegmt=True)


@lru_cache(maxsize=1024)
def precise_time(seconds: int) -> str:
    """Returns a time, in seconds since 1970, as listings write it."""
    instant = datetime.fromtimestamp(_clamped(seconds), UTC).replace(tzinfo=None)
    return instant.isoformat(timespec="milliseconds") + "Z"


def _clamped(seconds: int) -> int:
    return min(max(seconds, _FIRST_YEAR), _LAST_YEAR)
