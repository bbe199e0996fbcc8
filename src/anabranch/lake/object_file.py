"""An object that is open for reading."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterator
from typing import IO, Any

from anabranch.files.lazy_file import LazyFile
from anabranch.model.objects.entry import Entry

__all__ = ["ObjectFile", "in_mode", "require_read_mode"]


class ObjectFile(LazyFile):
    """One version of an object, whatever happens to its path: its properties and its bytes, also as
    a binary file that can be read and sought.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def entry(self) -> Entry:
        """Its size, checksum, time and metadata."""

    @property
    @abstractmethod
    def physical_address(self) -> str:
        """The full address of the bytes in the store."""

    @abstractmethod
    def chunks(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes from `start` on, by default all that follow, in chunks. May be
        called by several threads, as `read_bytes`. Raises Gone for bytes that are lost.
        """


def require_read_mode(mode: str, name: str) -> None:
    """Raises ValueError for a mode in which what `name` names is not read."""
    if mode not in {"r", "rt", "rb"}:
        raise ValueError(f"mode {mode!r}: {name} is read in the mode 'r' or 'rb'")


def in_mode(file: ObjectFile, mode: str, *, encoding: str, newline: str | None) -> IO[Any]:
    """Returns an object that is open for reading as it is in the mode `rb`, else as text."""
    return file if mode == "rb" else io.TextIOWrapper(file, encoding=encoding, newline=newline)
