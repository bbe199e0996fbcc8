"""Checksums that are the MD5 of an object's bytes."""

from __future__ import annotations

import re

__all__ = ["content_md5"]

_MD5 = re.compile(r'"?([0-9a-f]{32})"?')


def content_md5(checksum: str) -> str | None:
    """Returns the hex MD5 of an object's bytes, None if its checksum is not that: objects of
    multipart uploads and of other stores may have other checksums.
    """
    match = _MD5.fullmatch(checksum)
    return match[1] if match else None
