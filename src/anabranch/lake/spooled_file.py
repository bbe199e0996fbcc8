"""Files that are written on this machine before their bytes become an object."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any

__all__ = ["SpooledFile"]

_CHUNK = 1 << 20


class SpooledFile(io.BufferedIOBase):
    """A binary file for writing. Its bytes are in memory, those of a file of more than
    `in_memory` bytes on disk. If the block that writes it fails, it is discarded.
    """

    def __init__(self, in_memory: int) -> None:
        self._content = SpooledTemporaryFile(in_memory)  # noqa: SIM115  closed by subclasses

    @property
    def mode(self) -> str:
        """The mode of a binary file for writing."""
        return "wb"

    def writable(self) -> bool:
        """Returns True."""
        return True

    def write(self, content: Any, /) -> int:
        """Appends bytes and returns their number. Raises ValueError for a closed file."""
        if self.closed:
            raise ValueError("write to closed file")
        return self._content.write(content)

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._content.tell()

    def chunks(self) -> Iterator[bytes]:
        """Yields what was written, from the beginning each time."""
        self._content.seek(0)
        while chunk := self._content.read(_CHUNK):
            yield chunk

    @abstractmethod
    def discard(self) -> None:
        """Closes the file, whose bytes become no object."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()
