"""Buffered reader of a request body that arrives in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.s3.protocol.errors import S3Error

__all__ = ["MAX_LINE_BYTES", "PayloadSource"]

MAX_LINE_BYTES = 16 * 1024
"""The maximum size of a line, or of all trailing headers, in bytes."""


class PayloadSource:
    """Forward reader of a body. `received` is the number of bytes received so far.

    Holds at most one piece of the body and a line.
    """

    def __init__(self, body: Iterable[bytes]) -> None:
        self._pieces = iter(body)
        self._piece = b""
        self._position = 0
        self.received = 0

    def read_line(self) -> bytes:
        """Returns the next line without its CR LF. Raises S3Error: IncompleteBody if the body ends
        first, or if the line is too long or does not end with CR LF.
        """
        line = b""
        while (end := self._piece.find(b"\n", self._position)) < 0:
            line += self._piece[self._position :]
            if len(line) > MAX_LINE_BYTES or not self._advance():
                raise S3Error("IncompleteBody")
        line += self._piece[self._position : end]
        self._position = end + 1
        if not line.endswith(b"\r") or len(line) > MAX_LINE_BYTES:
            raise S3Error("IncompleteBody")
        return line[:-1]

    def read(self, amount: int) -> Iterator[bytes]:
        """Yields the next `amount` bytes in pieces. Raises S3Error: IncompleteBody."""
        while amount:
            if self._position == len(self._piece) and not self._advance():
                raise S3Error("IncompleteBody")
            piece = self._piece
            if self._position or len(piece) > amount:
                piece = piece[self._position : self._position + amount]
            self._position += len(piece)
            amount -= len(piece)
            yield piece

    def read_rest(self) -> bytes:
        """Returns the rest of the body. Raises S3Error: MalformedTrailerError if it is too long."""
        rest = self._piece[self._position :]
        while len(rest) <= MAX_LINE_BYTES:
            if not self._advance():
                return rest
            rest += self._piece
        raise S3Error("MalformedTrailerError")

    def pieces(self) -> Iterator[bytes]:
        """Yields the rest of the body in the pieces in which it arrives."""
        if self._position < len(self._piece):
            yield self._piece[self._position :]
        while self._advance():
            yield self._piece

    def _advance(self) -> bool:
        """Advances to the next piece that is not empty; returns whether there is one."""
        for piece in self._pieces:
            if piece:
                self._piece = piece
                self._position = 0
                self.received += len(piece)
                return True
        self._piece = b""
        self._position = 0
        return False
