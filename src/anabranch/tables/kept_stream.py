"""A stream that readers of libraries cannot close."""

from __future__ import annotations

from typing import BinaryIO, Self

__all__ = ["KeptStream"]


class KeptStream:
    """A stream for one reader, at its beginning, that `close` leaves open."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        stream.seek(0)
        self._stream = stream

    def read(self, size: int | None = -1) -> bytes:
        """Returns bytes from the position."""
        return self._stream.read(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Sets the position."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Returns the position."""
        return self._stream.tell()

    def close(self) -> None:
        """Does nothing."""

    def flush(self) -> None:
        """Does nothing."""

    def readable(self) -> bool:
        """Returns True."""
        return True

    def writable(self) -> bool:
        """Returns False."""
        return False

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing."""
