"""A body that arrives in pieces of any size, read by lines and by amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.s3.errors import S3Error

__all__ = ["LONGEST_LINE", "PayloadSource"]

LONGEST_LINE = 16 * 1024
"""What a line, or all trailing headers, may have at most, in bytes."""


class PayloadSource:
    """Reads a body forward. `received` is how many bytes of it have come so far.

    Holds one piece of the body, and a line at most.
    """

    def __init__(self, body: Iterable[bytes]) -> None:
        self._pieces = iter(body)
        self._piece = b""
        self._at = 0
        self.received = 0

    def line(self) -> bytes:
        """Returns the next line without the CR LF that ends it. Raises S3Error: IncompleteBody
        where the body ends before, or where the line is too long or ends otherwise.
        """
        line = b""
        while (end := self._piece.find(b"\n", self._at)) < 0:
            line += self._piece[self._at :]
            if len(line) > LONGEST_LINE or not self._next():
                raise S3Error("IncompleteBody")
        line += self._piece[self._at : end]
        self._at = end + 1
        if not line.endswith(b"\r") or len(line) > LONGEST_LINE:
            raise S3Error("IncompleteBody")
        return line[:-1]

    def take(self, amount: int) -> Iterator[bytes]:
        """Yields the next `amount` bytes in pieces. Raises S3Error: IncompleteBody."""
        while amount:
            if self._at == len(self._piece) and not self._next():
                raise S3Error("IncompleteBody")
            piece = self._piece
            if self._at or len(piece) > amount:
                piece = piece[self._at : self._at + amount]
            self._at += len(piece)
            amount -= len(piece)
            yield piece

    def rest(self) -> bytes:
        """Returns what is left. Raises S3Error: MalformedTrailerError if that is too much."""
        rest = self._piece[self._at :]
        while len(rest) <= LONGEST_LINE:
            if not self._next():
                return rest
            rest += self._piece
        raise S3Error("MalformedTrailerError")

    def pieces(self) -> Iterator[bytes]:
        """Yields what is left, in the pieces in which it comes."""
        if self._at < len(self._piece):
            yield self._piece[self._at :]
        while self._next():
            yield self._piece

    def _next(self) -> bool:
        """Goes to the next piece that is not empty; returns whether there is one."""
        for piece in self._pieces:
            if piece:
                self._piece = piece
                self._at = 0
                self.received += len(piece)
                return True
        self._piece = b""
        self._at = 0
        return False
