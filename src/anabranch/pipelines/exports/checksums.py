"""Checksums that are proved to be the MD5 of an object's bytes."""

from __future__ import annotations

import re

from anabranch.model.objects.data_address import is_generated

__all__ = ["content_md5", "proved_md5"]

_MD5 = re.compile(r'"?([0-9a-f]{32})"?')


def content_md5(checksum: str) -> str | None:
    """Returns the hex MD5 that a checksum may be, None if it is none: multipart uploads and other
    stores may have other checksums. Even if it has the form of an MD5, it may be something else.
    """
    match = _MD5.fullmatch(checksum)
    return match[1] if match else None


def proved_md5(checksum: str, address: str) -> str | None:
    """Returns the hex MD5 of an object's bytes, None unless its full or relative address proves
    that Anabranch has computed it.
    """
    return content_md5(checksum) if is_generated(address) else None
