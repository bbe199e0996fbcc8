"""Files that keep what collections computed: eight bytes that name the kind of content, its SHA-256
(32 bytes), and the content.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["checked_body", "with_check", "write_whole"]

_KIND = 8
_HEAD = _KIND + 32


def with_check(kind: bytes, body: bytes) -> bytes:
    """Returns a file's bytes with this content."""
    return kind + hashlib.sha256(body).digest() + body


def checked_body(kind: bytes, raw: memoryview) -> memoryview | None:
    """Returns the content of a file, or None if it is damaged or of another kind."""
    body = raw[_HEAD:]
    valid = raw[:_KIND] == kind and raw[_KIND:_HEAD] == hashlib.sha256(body).digest()
    return body if valid else None


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that is either there as a whole, or as before."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
