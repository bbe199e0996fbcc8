"""The MD5 of bytes, which is the checksum of an object: S3's ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

__all__ = ["md5_of"]


def md5_of(pieces: Iterable[bytes]) -> str:
    """Returns the hex MD5 of bytes that come in pieces."""
    digest = hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
