"""The lines of a Lakefile: continued ones joined, comments left out, every character's place kept.

A backslash at the end of a line continues it on the next; comments between the two are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from anabranch.errors import Invalid
from anabranch.model.lakefile import MAX_BYTES

__all__ = ["Line", "lines_of", "located"]

_CONTINUED = re.compile(r"\\[ \t]*\Z")
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BLANKS = " \t"
_SHOWN_BEFORE, _SHOWN = 60, 100


class _Piece(NamedTuple):
    """A line of the file; its characters stand in the joined text from `start` on."""

    number: int
    text: str
    start: int


class Line(NamedTuple):
    """An instruction's text, and the lines of the file that it was written on."""

    file: str
    text: str
    pieces: tuple[_Piece, ...]

    @property
    def number(self) -> int:
        """The number of its first line, counted from 1."""
        return self.pieces[0].number

    def error(self, offset: int, reason: str, hint: str = "") -> Invalid:
        """Returns the error about the character at an offset of the text, or about its end."""
        piece = next(each for each in reversed(self.pieces) if each.start <= offset)
        column = min(offset - piece.start, len(piece.text)) + 1
        return located(self.file, piece.number, column, piece.text, reason, hint)


def located(file: str, line: int, column: int, text: str, reason: str, hint: str = "") -> Invalid:
    """Returns an error that names a place and shows its line; line and column count from 1."""
    cut = max(0, column - 1 - _SHOWN_BEFORE)
    shown = text[cut : cut + _SHOWN]
    before = "".join(each if each == "\t" else " " for each in shown[: column - 1 - cut])
    return Invalid(
        f"{file}:{line}:{column}: {reason}\n  {shown}\n  {before}^",
        kind="invalid_lakefile",
        hint=hint,
    )


def lines_of(data: bytes | str, file: str) -> Iterator[Line]:
    """Yields the instructions of a Lakefile. Raises Invalid for more than 1 MiB, for what is not
    UTF-8 and for control characters.
    """
    pieces: list[_Piece] = []
    length = 0
    for number, text in enumerate(_decoded(data, file).split("\n"), 1):
        line = text.removesuffix("\r")
        unfit = _UNFIT.search(line)
        if unfit is not None:
            reason = f"expected text, found the control character {unfit[0]!r}"
            shown = _UNFIT.sub("\N{REPLACEMENT CHARACTER}", line)
            raise located(file, number, unfit.start() + 1, shown, reason)
        if line.lstrip(_BLANKS).startswith("#"):
            continue
        continued = _CONTINUED.search(line)
        kept = line[: continued.start()] if continued else line
        pieces.append(_Piece(number, line, length))
        length += len(kept)
        if continued is None:
            yield from _joined(file, pieces, length)
            pieces, length = [], 0
    yield from _joined(file, pieces, length)


def _joined(file: str, pieces: list[_Piece], length: int) -> Iterator[Line]:
    ends = [piece.start for piece in pieces[1:]] + [length]
    text = "".join(
        piece.text[: end - piece.start] for piece, end in zip(pieces, ends, strict=False)
    )
    if text.strip(_BLANKS):
        yield Line(file, text, tuple(pieces))


def _decoded(data: bytes | str, file: str) -> str:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        reason = f"expected at most {MAX_BYTES:,} bytes, found {len(raw):,}"
        raise located(file, 1, 1, raw[:_SHOWN].decode("utf-8", "replace").split("\n")[0], reason)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode().split("\n")
        start = error.start - len(before[-1].encode())
        line = raw[start:].split(b"\n")[0].decode("utf-8", "replace")
        reason = f"expected UTF-8, found the byte {raw[error.start]:#04x}"
        raise located(file, len(before), len(before[-1]) + 1, line, reason) from None
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
