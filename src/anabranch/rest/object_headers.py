"""The headers that go with an object's bytes, and the conditions and ranges that ask for them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import NamedTuple

from anabranch.errors import RangeNotSatisfiable
from anabranch.model.entry import Entry
from anabranch.rest.answer import header_safe

__all__ = ["RANGE_PATTERN", "ByteRange", "byte_range", "etag_of", "http_date", "object_headers"]

RANGE_PATTERN = r"^bytes=[0-9]*-[0-9]*(?:(?:(?:, ?| )[0-9]*)?-[0-9]*)*(?:, ?| )?$"
"""What a Range header must look like for lakeFS to consider it at all: its own pattern,
`bytes=((\\d*-\\d*,? ?)+)`, written so that there is but one way to match anything.
"""

_SINGLE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")

_INLINE = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/pdf",
        "application/xml",
        "audio/mpeg",
        "audio/wav",
        "image/gif",
        "image/jpeg",
        "image/jpg",
        "image/png",
        "image/svg+xml",
        "image/webp",
        "text/css",
        "text/html",
        "text/javascript",
        "text/markdown",
        "text/plain",
        "text/xml",
        "video/mp4",
        "video/webm",
    }
)
"""Content types that a browser may show; everything else is offered as a download."""

_SECURITY = (
    ("Cache-Control", "no-store, must-revalidate"),
    ("Expires", "0"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
    ("Content-Security-Policy", "default-src 'none'"),
)


class ByteRange(NamedTuple):
    """A part of an object: from `start`, `length` bytes, of `size` in all."""

    start: int
    length: int
    size: int

    @property
    def content_range(self) -> str:
        """The value of the Content-Range header."""
        return f"bytes {self.start}-{self.start + self.length - 1}/{self.size}"


def byte_range(header: str, size: int) -> ByteRange:
    """Returns the part that a Range header of one range asks for (RFC 9110, section 14), its end
    clamped to the object's. Raises RangeNotSatisfiable, also for several ranges, as lakeFS does.
    """
    match = _SINGLE.fullmatch(header)
    first, last = match.groups() if match else ("", "")
    if first:
        start, end = int(first), min(int(last) if last else size - 1, size - 1)
    elif last:
        start, end = max(size - int(last), 0), size - 1
    else:
        start, end = size, -1
    if start > end:
        raise RangeNotSatisfiable("Requested Range Not Satisfiable", size=size)
    return ByteRange(start, end - start + 1, size)


def etag_of(entry: Entry) -> str:
    """Returns the ETag of an object: its checksum in quotes."""
    checksum = header_safe(entry.checksum)
    return checksum if checksum.startswith('"') else f'"{checksum}"'


def object_headers(entry: Entry, *, disposition: bool) -> list[tuple[str, str]]:
    """Returns the headers of an object beside its type and length."""
    headers = [
        ("ETag", etag_of(entry)),
        ("Last-Modified", http_date(entry.mtime)),
        ("Accept-Ranges", "bytes"),
    ]
    if disposition:
        media_type = entry.content_type.partition(";")[0].strip().lower()
        shown = "inline" if media_type in _INLINE else "attachment"
        headers.append(("Content-Disposition", shown))
    headers += _SECURITY
    return headers


@lru_cache(maxsize=1024)
def http_date(seconds: int) -> str:
    """Returns a time, in seconds since 1970, as HTTP writes it; the nearest year that HTTP can
    write where it cannot.
    """
    clamped = min(max(seconds, -62135596800), 253402300799)
    return format_datetime(datetime.fromtimestamp(clamped, UTC), usegmt=True)
