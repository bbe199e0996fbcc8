"""Seekable streams of bytes that are read in ranges: of an object, or from another process."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

__all__ = ["ReadRange", "open_ranges"]

ReadRange = Callable[[int, int], bytes]
"""Returns the bytes from a position, in bytes; a number of them that exist, or fewer, but some."""


def open_ranges(read: ReadRange, size: int, *, buffer_bytes: int) -> io.BufferedReader:
    """Returns a stream of `size` bytes that `read` returns, with a buffer of `buffer_bytes`. Its
    methods raise what `read` raises.
    """
    return io.BufferedReader(_Ranges(read, size), buffer_bytes)


class _Ranges(io.RawIOBase):
    def __init__(self, read: ReadRange, size: int) -> None:
        self._read = read
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"negative position {start + offset}")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        content = self._read(self._at, length)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
