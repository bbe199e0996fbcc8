"""Splits a Lakefile into instructions: joins continued lines, omits comments, tracks positions.

A backslash at the end of a line continues it on the next; comments in between are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from anabranch.errors import Invalid
from anabranch.model.lakefile.instructions import MAX_BYTES

__all__ = ["Line", "error_at", "split_lines"]

_CONTINUED = re.compile(r"\\[ \t]*\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BLANKS = " \t"
_SHOWN_BEFORE, _SHOWN = 60, 100


class _Piece(NamedTuple):
    """A line of the file; `start` is its offset in the joined text."""

    number: int
    text: str
    start: int


class Line(NamedTuple):
    """An instruction's text and its lines of the file."""

    file: str
    text: str
    pieces: tuple[_Piece, ...]

    @property
    def number(self) -> int:
        """The number of its first line, counted from 1."""
        return self.pieces[0].number

    def error(self, offset: int, reason: str, hint: str = "") -> Invalid:
        """Returns the error for the character at an offset of the text, or for its end."""
        piece = next(piece for piece in reversed(self.pieces) if piece.start <= offset)
        column = min(offset - piece.start, len(piece.text)) + 1
        return error_at(self.file, piece.number, column, piece.text, reason, hint)


def error_at(file: str, line: int, column: int, text: str, reason: str, hint: str = "") -> Invalid:
    """Returns an error with a position and its line; lines and columns count from 1."""
    cut = max(0, column - 1 - _SHOWN_BEFORE)
    excerpt = text[cut : cut + _SHOWN]
    indent = "".join(char if char == "\t" else " " for char in excerpt[: column - 1 - cut])
    return Invalid(
        f"{file}:{line}:{column}: {reason}\n  {excerpt}\n  {indent}^",
        kind="invalid_lakefile",
        hint=hint,
    )


def split_lines(data: bytes | str, file: str) -> Iterator[Line]:
    """Yields the instructions of a Lakefile. Raises Invalid for more than 1 MiB, for text that is
    not UTF-8 and for control characters.
    """
    pieces: list[_Piece] = []
    length = 0
    for number, text in enumerate(_decode(data, file).split("\n"), 1):
        line = text.removesuffix("\r")
        control = _CONTROL.search(line)
        if control is not None:
            reason = f"expected text, found the control character {control[0]!r}"
            printable = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", line)
            raise error_at(file, number, control.start() + 1, printable, reason)
        if line.lstrip(_BLANKS).startswith("#"):
            continue
        continued = _CONTINUED.search(line)
        content = line[: continued.start()] if continued else line
        pieces.append(_Piece(number, line, length))
        length += len(content)
        if continued is None:
            yield from _join(file, pieces, length)
            pieces, length = [], 0
    yield from _join(file, pieces, length)


def _join(file: str, pieces: list[_Piece], length: int) -> Iterator[Line]:
    ends = [piece.start for piece in pieces[1:]] + [length]
    text = "".join(
        piece.text[: end - piece.start] for piece, end in zip(pieces, ends, strict=False)
    )
    if text.strip(_BLANKS):
        yield Line(file, text, tuple(pieces))


def _decode(data: bytes | str, file: str) -> str:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        reason = f"expected at most {MAX_BYTES:,} bytes, found {len(raw):,}"
        raise error_at(file, 1, 1, raw[:_SHOWN].decode("utf-8", "replace").split("\n")[0], reason)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode().split("\n")
        start = error.start - len(before[-1].encode())
        line = raw[start:].split(b"\n")[0].decode("utf-8", "replace")
        reason = f"expected UTF-8, found the byte {raw[error.start]:#04x}"
        raise error_at(file, len(before), len(before[-1]) + 1, line, reason) from None
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
