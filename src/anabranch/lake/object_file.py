"""An object that is open for reading."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from anabranch.files.lazy_file import LazyFile
from anabranch.model.objects.entry import Entry

__all__ = ["ObjectFile"]


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
