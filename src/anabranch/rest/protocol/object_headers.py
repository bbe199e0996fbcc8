"""Headers of responses with an object, and the Range header as the REST API reads it."""

from __future__ import annotations

from anabranch.errors import RangeNotSatisfiable
from anabranch.http.dates import format_http_date
from anabranch.http.etags import quote_etag
from anabranch.http.ranges import ByteRange, parse_range
from anabranch.model.objects.entry import Entry

__all__ = ["CONTENT_SECURITY", "RANGE_PATTERN", "object_headers", "require_range"]

RANGE_PATTERN = r"^bytes=[0-9]*-[0-9]*(?:(?:(?:, ?| )[0-9]*)?-[0-9]*)*(?:, ?| )?$"
"""Pattern of the Range headers that the API accepts: that of lakeFS, `bytes=((\\d*-\\d*,? ?)+)`,
written so that no text can match in two ways, which keeps matching linear in its length.
"""

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
"""Content types that browsers display; all others are downloaded."""

CONTENT_SECURITY = (
    ("Cache-Control", "no-store, must-revalidate"),
    ("Expires", "0"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
)
"""Headers that keep browsers from caching content of users, and from running it."""


def require_range(header: str, size: int) -> ByteRange:
    """Returns the bytes that a Range header selects from an object of `size` bytes.

    Raises RangeNotSatisfiable, also for several ranges and for an invalid one, as lakeFS does.
    """
    part = parse_range(header, size)
    if part is None:
        raise RangeNotSatisfiable("Requested Range Not Satisfiable", size=size)
    return part


def object_headers(entry: Entry, *, disposition: bool) -> list[tuple[str, str]]:
    """Returns the headers of an object, without Content-Type and Content-Length."""
    headers = [
        ("ETag", quote_etag(entry.checksum)),
        ("Last-Modified", format_http_date(entry.mtime)),
        ("Accept-Ranges", "bytes"),
    ]
    if disposition:
        media_type = entry.content_type.partition(";")[0].strip().lower()
        value = "inline" if media_type in _INLINE else "attachment"
        headers.append(("Content-Disposition", value))
    headers += CONTENT_SECURITY
    return headers
