"""Parts of multipart uploads, and the checksum of an object made of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

__all__ = ["MAX_PARTS", "Part", "multipart_checksum"]

MAX_PARTS = 10_000
"""The greatest part number; the smallest is 1, as in S3."""


class Part(msgspec.Struct, frozen=True):
    """A stored part: `size` in bytes, `checksum` the hex MD5, `mtime` in seconds since 1970."""

    number: int
    size: int
    checksum: str
    mtime: int


def multipart_checksum(checksums: Sequence[str]) -> str:
    """Returns the checksum of a block made of parts with these checksums: S3's ETag, which is the
    hex MD5 of their MD5s, a dash, and their number.
    """
    digests = b"".join(map(bytes.fromhex, checksums))
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(checksums)}"
