"""Files that are written within a transaction, which stores them at its end."""

from __future__ import annotations

import io
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any

from anabranch.fsspec.locations import Location

__all__ = ["DeferredFile"]

_IN_MEMORY = 1 << 20
"""Larger files are kept on disk until they are stored, in bytes."""
_CHUNK = 1 << 20


class DeferredFile(io.BufferedIOBase):
    """A binary file for writing, whose bytes stay after it was closed. If the block that writes it
    fails, it `is_failed`, and has no bytes.
    """

    def __init__(self, location: Location, *, if_absent: bool) -> None:
        self.location = location
        self.if_absent = if_absent
        self.is_failed = False
        self._content = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed by `drop`

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

    def discard(self) -> None:
        """Drops what was written, unless the file was closed."""
        if not self.closed:
            self.is_failed = True
            self.close()

    def drop(self) -> None:
        """Closes the file and drops its bytes."""
        self.close()
        self._content.close()

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

    def chunks(self) -> Iterator[bytes]:
        """Yields what was written."""
        self._content.seek(0)
        while chunk := self._content.read(_CHUNK):
            yield chunk
