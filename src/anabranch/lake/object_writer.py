"""Files that are written on this machine, and uploaded as an object when they are closed.

An object appears whole or not at all: if the block that writes a file ends with an exception, or a
file is dropped without being closed, nothing is uploaded.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Any, cast

__all__ = ["ObjectWriter", "TextObjectWriter"]

_IN_MEMORY = 8 << 20
"""Larger files are kept on disk until they are uploaded, in bytes."""
_CHUNK = 1 << 20

Upload = Callable[[Iterable[bytes]], object]


class ObjectWriter(io.BufferedIOBase):
    """A binary file for writing, which `upload` stores."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._content = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed with this file

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

    def close(self) -> None:
        """Uploads the object. Raises what the upload raises; the file is closed in any case."""
        if self.closed:
            return
        try:
            self._upload(_Chunks(self._content))
        finally:
            self.discard()

    def discard(self) -> None:
        """Closes the file without uploading it."""
        self._content.close()
        super().close()

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

    def __del__(self) -> None:
        self.discard()


class TextObjectWriter(io.TextIOWrapper):
    """A text file for writing, whose bytes an ObjectWriter stores."""

    def __init__(self, file: ObjectWriter, *, encoding: str, newline: str | None) -> None:
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

    def __init__(self, file: SpooledTemporaryFile[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk
