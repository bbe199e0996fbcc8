"""Base of objects that are also binary files: seekable, for reading, opened at the first use.

A server opens objects that it never reads as a file, so the stream is made when it is needed.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, BinaryIO, Self

from anabranch.files.ranged_stream import open_ranges

__all__ = ["LazyFile"]

_BUFFER_BYTES = 128 << 10


class LazyFile(BinaryIO):
    """The methods of a buffered binary file over `byte_count` and `read_bytes` of a subclass. One
    thread at a time may use them.
    """

    __slots__ = ("_stream",)
    _stream: io.BufferedReader

    @property
    def mode(self) -> str:
        """The mode of a binary file for reading."""
        return "rb"

    @property
    def byte_count(self) -> int:
        """The length of the file."""
        raise NotImplementedError

    def read_bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Returns bytes from a position, by default all that follow."""
        raise NotImplementedError

    def _read_range(self, start: int, length: int) -> bytes:
        """Returns bytes for the stream: a subclass may read ahead."""
        return self.read_bytes(start, length)

    def _file(self) -> io.BufferedReader:
        try:
            return self._stream
        except AttributeError:
            self._stream = open_ranges(
                self._read_range, self.byte_count, buffer_bytes=_BUFFER_BYTES
            )
            return self._stream

    def read(self, size: int | None = -1, /) -> bytes:
        """Returns the next `size` bytes, fewer at the end; all that follow if it is negative or
        None. Raises ValueError for a closed file, as all methods do.
        """
        file = self._file()
        if size is not None and size >= 0:
            return file.read(size)
        # one read of the store: of a whole object, it checks the checksum
        start = file.tell()
        if start >= self.byte_count:
            return b""
        content = self.read_bytes(start)
        file.seek(start + len(content))
        return content

    def read1(self, size: int = -1, /) -> bytes:
        """Returns at most `size` bytes by at most one read of the store."""
        return self._file().read1(size)

    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer with the next bytes and returns their number."""
        return self._file().readinto(buffer)

    def readline(self, size: int | None = -1, /) -> bytes:
        """Returns the next line with its end, at most `size` bytes of it."""
        return self._file().readline(size)

    def readlines(self, hint: int = -1, /) -> list[bytes]:
        """Returns the lines that follow, until they have `hint` bytes."""
        return self._file().readlines(hint)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves to a position and returns it. Raises ValueError for a negative one."""
        return self._file().seek(offset, whence)

    def tell(self) -> int:
        """Returns the position."""
        return self._file().tell()

    def close(self) -> None:
        """Closes the file; `read_bytes` still works."""
        self._file().close()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._file().closed

    def readable(self) -> bool:
        """Returns True."""
        return self._file().readable()

    def seekable(self) -> bool:
        """Returns True."""
        return self._file().seekable()

    def writable(self) -> bool:
        """Returns False."""
        return self._file().writable()

    def isatty(self) -> bool:
        """Returns False."""
        return self._file().isatty()

    def fileno(self) -> int:
        """Raises io.UnsupportedOperation: there is no file descriptor."""
        return self._file().fileno()

    def flush(self) -> None:
        """Does nothing."""
        self._file().flush()

    def write(self, content: Any, /) -> int:
        """Raises io.UnsupportedOperation."""
        return self._file().write(content)

    def writelines(self, lines: Iterable[Any], /) -> None:
        """Raises io.UnsupportedOperation."""
        self._file().writelines(lines)

    def truncate(self, size: int | None = None, /) -> int:
        """Raises io.UnsupportedOperation."""
        return self._file().truncate(size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file())

    def __next__(self) -> bytes:
        return next(self._file())

    def __enter__(self) -> Self:
        self._file().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


io.BufferedIOBase.register(LazyFile)  # libraries ask by isinstance whether something is a file
