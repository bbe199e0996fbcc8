"""Pieces of bytes whose source is opened for the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, Self, cast

__all__ = ["DeferredPieces", "SendableFile"]


class SendableFile(Protocol):
    """Bytes of a file that the kernel can send to a socket without a copy in this process."""

    remaining: int
    """Number of bytes that were neither returned nor sent yet."""

    def send_to(self, socket: int, amount: int) -> int:
        """Sends up to `amount` bytes to the descriptor of a socket, and returns how many. Raises
        the OSError of the socket, such as BlockingIOError, and Gone if the file ends early.
        """


class DeferredPieces:
    """Iterator of the pieces that `open_source` returns, which is called for the first one."""

    __slots__ = ("_open_source", "_source")

    def __init__(self, open_source: Callable[[], Iterator[bytes]]) -> None:
        self._open_source: Callable[[], Iterator[bytes]] | None = open_source
        self._source: Iterator[bytes] = iter(())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if self._open_source is not None:
            open_source, self._open_source = self._open_source, None
            self._source = open_source()
        return next(self._source)

    @property
    def file(self) -> SendableFile | None:
        """The file that the next pieces are read from, if they are those of an open file."""
        is_file = hasattr(self._source, "send_to")
        return cast("SendableFile", self._source) if is_file else None

    def close(self) -> None:
        """Closes the source."""
        self._open_source = None
        close = getattr(self._source, "close", None)
        if close is not None:
            close()
