"""The file of a result in a query process, whose bytes are sent to the server in pieces."""

from __future__ import annotations

import io
from typing import Any

from anabranch.pipelines.queries.server_calls import ServerCalls

__all__ = ["ResultSink"]

_PIECE_BYTES = 1 << 20


class ResultSink(io.RawIOBase):
    """A file that is only written. `flush` sends what is kept."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        self._kept = bytearray()
        self._position = 0

    def writable(self) -> bool:
        """Returns True."""
        return True

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._position

    def write(self, content: Any, /) -> int:
        """Takes the next bytes. Raises OSError if the server takes no more."""
        length = memoryview(content).nbytes
        self._kept += content
        self._position += length
        if len(self._kept) >= _PIECE_BYTES:
            self.send()
        return length

    def send(self) -> None:
        """Sends the bytes that are kept."""
        if self._kept:
            self._calls.request({"call": "write"}, bytes(self._kept))
            self._kept.clear()
