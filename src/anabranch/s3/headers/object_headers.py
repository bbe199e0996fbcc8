"""Headers of responses with an object, and the times of S3's XML documents."""

from __future__ import annotations

from functools import lru_cache

from anabranch.http.dates import format_http_date, nearest_datetime
from anabranch.http.etags import quote_etag
from anabranch.http.ranges import ByteRange
from anabranch.model.objects.entry import Entry
from anabranch.s3.headers.tag_sets import TAGGING, parse_stored_tags
from anabranch.s3.headers.user_metadata import metadata_headers
from anabranch.s3.protocol.errors import S3Error

__all__ = ["object_headers", "part_range", "precise_time"]

_BROWSER_POLICY = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox; default-src 'none'"),
)
"""Keeps a browser that follows a presigned URL from executing an object: objects have the same
origin as the pages of the server.
"""


def part_range(number: int, size: int) -> ByteRange | None:
    """Returns the part of an object of that number: an object is known as one part, the first;
    None for an empty object, which has no range. Raises S3Error: InvalidPart.
    """
    if number != 1:
        raise S3Error("InvalidPart")
    return ByteRange(0, size, size) if size else None


def object_headers(entry: Entry) -> list[tuple[str, str]]:
    """Returns the headers of an object, without Content-Type and Content-Length."""
    headers = [
        ("ETag", quote_etag(entry.checksum)),
        ("Last-Modified", format_http_date(entry.mtime)),
        ("Accept-Ranges", "bytes"),
        *metadata_headers(entry.metadata),
        *_BROWSER_POLICY,
    ]
    if TAGGING in entry.metadata:
        headers.append(("x-amz-tagging-count", str(len(parse_stored_tags(entry.metadata)))))
    return headers


@lru_cache(maxsize=1024)
def precise_time(seconds: int) -> str:
    """Returns a time, in seconds since 1970, as XML documents of S3 write it."""
    moment = nearest_datetime(seconds).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds") + "Z"
