"""The cells of a text, read leniently: every line becomes a row, whatever it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

__all__ = ["Dialect", "Row", "read_rows"]

Row = list[str | None]
"""Cells; an empty one without quotes is None."""

_MAX_QUOTED_CHARS = 16 << 20


class Dialect(msgspec.Struct, frozen=True):
    """How cells are separated and quoted. `quote` and `escape` may be empty; a quote within quotes
    is doubled, or after `escape`.
    """

    delimiter: str
    quote: str = '"'
    escape: str = ""


class _Cell(msgspec.Struct, frozen=True):
    """Patterns of a cell and what follows it."""

    quoted: re.Pattern[str]
    plain: re.Pattern[str]
    opening: str


def read_rows(blocks: Iterable[str], dialect: Dialect) -> Iterator[tuple[Row, bool]]:
    """Yields the rows of a text, and whether a row has a quote that is not closed, which is read as
    a character then. Lines without anything are no rows.
    """
    cell = _cell(dialect)
    source = iter(blocks)
    text, at, is_end = "", 0, False
    while True:
        if at >= len(text) or (not is_end and len(text) - at < _MAX_QUOTED_CHARS):
            more = next(source, None)
            if more is None:
                is_end = True
            else:
                text, at = text[at:] + more, 0
        while at < len(text):
            row, after, is_open = _read_row(text, at, cell, dialect)
            needs_more = after == len(text) or (after == len(text) - 1 and text[-1] == "\r")
            if not is_end and (is_open or needs_more) and len(text) - at < _MAX_QUOTED_CHARS:
                break
            at = after
            if row is not None:
                yield row, is_open
        if is_end and at >= len(text):
            return


def _cell(dialect: Dialect) -> _Cell:
    delimiter, quote = re.escape(dialect.delimiter), re.escape(dialect.quote)
    end = rf"({delimiter}|\r\n|\r|\n|\Z)"
    plain = re.compile(rf"([^{delimiter}\r\n]*){end}")
    if not dialect.quote:
        return _Cell(re.compile("(?!)"), plain, "")
    escape = re.escape(dialect.escape)
    escaped = rf"|{escape}(?s:.)" if escape else ""
    inside = rf"(?:[^{quote}{escape}]++|{quote}{quote}{escaped})*+"
    quoted = re.compile(rf"{quote}({inside}){quote}([^{delimiter}\r\n]*){end}")
    return _Cell(quoted, plain, dialect.quote)


def _read_row(text: str, at: int, cell: _Cell, dialect: Dialect) -> tuple[Row | None, int, bool]:
    """Returns the row at a position, None for an empty line, the position after it, and whether
    a quote is open.
    """
    row: Row = []
    start, is_open = at, False
    while True:
        match = None
        if cell.opening and text.startswith(cell.opening, at):
            match = cell.quoted.match(text, at)
            is_open = is_open or match is None
        if match is not None:
            value: str | None = _unquote(match[1], dialect) + match[2]
            end = match[3]
        else:
            match = cell.plain.match(text, at)
            assert match is not None  # noqa: S101  it matches everything
            value, end = match[1] or None, match[2]
        row.append(value)
        at = match.end()
        if end != dialect.delimiter:
            is_blank = len(row) == 1 and value is None and at - start == len(end)
            return (None if is_blank else row), at, is_open


def _unquote(text: str, dialect: Dialect) -> str:
    if dialect.escape and dialect.escape in text:
        text = re.sub(rf"{re.escape(dialect.escape)}(.)", r"\1", text, flags=re.DOTALL)
    return text.replace(dialect.quote * 2, dialect.quote)
