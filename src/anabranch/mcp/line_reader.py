"""Lines from a descriptor, of which none is held beyond a limit."""

from __future__ import annotations

import os

__all__ = ["LineReader"]

_CHUNK = 64 << 10


class LineReader:
    """Reads lines. It has no lock that a thread could hold at the end of the process."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._received = bytearray()
        self._searched = 0
        self._is_ended = False

    def read(self) -> bytes | None:
        """Returns the next line without its end; None at the end of the file. Of one that is longer
        than the limit it returns one byte more than that, and skips the rest.
        """
        long = b""
        while True:
            end = self._received.find(b"\n", self._searched)
            if end >= 0:
                line = long or bytes(self._received[:end])
                self._keep(end + 1)
                return line[: self._limit + 1]
            self._searched = len(self._received)
            if not long and len(self._received) > self._limit:
                long = bytes(self._received[: self._limit + 1])
            if long:
                self._keep(len(self._received))
            if self._is_ended:
                line = long or bytes(self._received)
                self._keep(len(self._received))
                return line or None
            chunk = os.read(self._descriptor, _CHUNK)
            self._is_ended = not chunk
            self._received += chunk

    def _keep(self, start: int) -> None:
        del self._received[:start]
        self._searched = 0
