"""The file of a result on the server, until it is sent: in memory if it is small."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

from anabranch.errors import Busy, Invalid

__all__ = ["Download"]

_IN_MEMORY = 4 << 20
_PIECE_BYTES = 256 << 10


class Download:
    """A temporary file of at most `max_bytes`, without a name. It is removed when it was read, or
    closed.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self.size = 0

    def write(self, content: bytes) -> None:
        """Appends bytes. Raises Invalid if the file is too long, Busy for a full disk."""
        self.size += len(content)
        if self.size > self._max_bytes:
            raise Invalid(
                f"the result has more than {self._max_bytes:,} bytes",
                kind="query_too_large",
                hint="Select fewer rows or columns, or use Parquet, which is smaller.",
            )
        try:
            self._file.write(content)
        except OSError as error:
            raise Busy(f"the result cannot be kept: {error.strerror}") from error

    def close(self) -> None:
        """Removes the file."""
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        """Yields the file from its beginning, and removes it."""
        with self._file as file:
            file.seek(0)
            while piece := file.read(_PIECE_BYTES):
                yield piece
