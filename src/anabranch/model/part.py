"""A part of an upload in parts, and the checksum of what parts become."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

__all__ = ["MAX_PARTS", "Part", "checksum_of_parts"]

MAX_PARTS = 10_000
"""The greatest number of a part, the least being 1, as in S3."""


class Part(msgspec.Struct, frozen=True):
    """A part that is stored: `size` in bytes, `checksum` the hex MD5, `mtime` in seconds."""

    number: int
    size: int
    checksum: str
    mtime: int


def checksum_of_parts(checksums: Sequence[str]) -> str:
    """Returns the checksum of a block made of parts, from those of the parts: S3's ETag, the hex
    MD5 of their MD5s, a dash, and how many they are.
    """
    digests = b"".join(map(bytes.fromhex, checksums))
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(checksums)}"
