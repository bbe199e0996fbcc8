"""Files that are written on this machine, and uploaded as an object when they are closed.

An object appears whole or not at all: if the block that writes a file ends with an exception, or a
file is dropped without being closed, nothing is uploaded.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, cast

from anabranch.lake.spooled_file import SpooledFile

__all__ = ["ObjectWriter", "TextObjectWriter"]

_IN_MEMORY = 8 << 20
"""Larger files are kept on disk until they are uploaded, in bytes."""

Upload = Callable[[Iterable[bytes]], object]


class ObjectWriter(SpooledFile):
    """A binary file for writing, which `upload` stores."""

    def __init__(self, upload: Upload) -> None:
        super().__init__(_IN_MEMORY)
        self._upload = upload

    def close(self) -> None:
        """Uploads the object. Raises what the upload raises; the file is closed in any case."""
        if self.closed:
            return
        try:
            self._upload(_Chunks(self))
        finally:
            self.discard()

    def discard(self) -> None:
        """Closes the file without uploading it."""
        self._content.close()
        super().close()

    def __del__(self) -> None:
        self.discard()


class TextObjectWriter(io.TextIOWrapper):
    """A text file for writing, whose bytes a binary one stores."""

    def __init__(self, file: SpooledFile, *, encoding: str, newline: str | None) -> None:
        super().__init__(cast(IO[bytes], file), encoding=encoding, newline=newline)
        self._file = file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.detach()
            self._file.discard()
        else:
            self.close()

    def __del__(self) -> None:
        self._file.discard()


class _Chunks:
    """The content of a file in pieces, which can be read again."""

    def __init__(self, file: SpooledFile) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        return self._file.chunks()
