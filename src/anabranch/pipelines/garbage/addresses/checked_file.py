"""Files that keep what collections computed: eight bytes that name the kind of content, its SHA-256
(32 bytes), and the content.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Container
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

__all__ = ["KeptForm", "checked_body", "read_checked", "remove_others"]
__all__ += ["with_check", "write_checked", "write_whole"]

_Kept = TypeVar("_Kept")

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


def read_checked(path: Path, kind: bytes) -> memoryview | None:
    """Returns the content of the file at a path, or None if it is missing, damaged or of another
    kind.
    """
    try:
        return checked_body(kind, memoryview(path.read_bytes()))
    except FileNotFoundError:
        return None


def write_checked(path: Path, kind: bytes, body: bytes) -> None:
    """Writes a file with this content, which is either there as a whole, or as before."""
    write_whole(path, with_check(kind, body))


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


def remove_others(folder: Path, used: Container[str]) -> None:
    """Removes the files in a folder except those with the names `used`, and those that
    `write_whole` is writing, perhaps in another process: their names begin with a dot.
    """
    for path in folder.iterdir():
        if path.name not in used and not path.name.startswith("."):
            path.unlink(missing_ok=True)


class KeptForm(Generic[_Kept]):
    """Files of a kind with a structure in MessagePack after the digest of Anabranch's version. What
    another version has written does not count: it may have understood less.
    """

    def __init__(self, kind: bytes, decoder: msgspec.msgpack.Decoder[_Kept]) -> None:
        self._kind = kind
        self._decoder = decoder

    def read(self, path: Path | None) -> _Kept | None:
        """Returns what a file has, or None if it is missing, damaged or of another version."""
        body = None if path is None else read_checked(path, self._kind)
        own = _version_digest()
        if body is None or body[: len(own)] != own:
            return None
        try:
            return self._decoder.decode(body[len(own) :])
        except msgspec.MsgspecError:
            return None

    def write(self, path: Path | None, kept: _Kept) -> None:
        """Writes a file, if there is a path."""
        if path is not None:
            write_checked(path, self._kind, _version_digest() + msgspec.msgpack.encode(kept))


@cache
def _version_digest() -> bytes:
    return hashlib.sha256(version("anabranch").encode()).digest()
