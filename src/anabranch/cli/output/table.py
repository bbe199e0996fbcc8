"""Formats rows of values: aligned columns under headings for terminals, tab-separated for programs.

Long listings are formatted in portions. Columns never get narrower from one portion to the next,
and the last column is not padded, so a listing of a million objects needs no more memory than one
portion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from anabranch.cli.output.format import display_width, iso_time, local_time, paint, printable, size

__all__ = ["Column", "align", "separate"]

_PORTION = 1000
_SHORT_ID = 12
_NUMBERS = ("size", "number")
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "prefix_changed": "~", "conflict": "*"}


class Column(NamedTuple):
    """One column: its heading and what kind of value it holds: text, name, id, size, number,
    time or change.
    """

    title: str
    kind: str = "text"


def separate(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yields a line of tab-separated values for each row, without headings."""
    for row in rows:
        yield "\t".join(_plain(column, value) for column, value in zip(columns, row, strict=True))


def align(
    columns: Sequence[Column], rows: Iterable[Sequence[Any]], *, colour: bool
) -> Iterator[str]:
    """Yields a line of headings, then an aligned line for each row; nothing without rows."""
    widths = [display_width(column.title) for column in columns]
    rows = iter(rows)
    first = True
    while portion := list(islice(rows, _PORTION)):
        cells = [
            [_pretty(column, value) for column, value in zip(columns, row, strict=True)]
            for row in portion
        ]
        for row_cells in cells:
            widths = [max(w, display_width(c)) for w, c in zip(widths, row_cells, strict=True)]
        if first:
            titles = [column.title for column in columns]
            yield _line(columns, titles, widths, ["head"] * len(columns), colour=colour)
            first = False
        for row, row_cells in zip(portion, cells, strict=True):
            styles = [
                str(value) if column.kind == "change" else column.kind
                for column, value in zip(columns, row, strict=True)
            ]
            yield _line(columns, row_cells, widths, styles, colour=colour)


def _plain(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind == "time":
        return iso_time(value)
    return printable(str(value))


def _pretty(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind == "time":
        return local_time(value)
    if column.kind == "size":
        return size(value)
    if column.kind == "change":
        return f"{_SIGNS.get(value, '?')} {printable(value)}"
    if column.kind == "id":
        return printable(str(value))[:_SHORT_ID]
    return printable(str(value))


def _line(
    columns: Sequence[Column],
    cells: Sequence[str],
    widths: Sequence[int],
    styles: Sequence[str],
    *,
    colour: bool,
) -> str:
    parts = []
    last = len(columns) - 1
    for position, (column, cell, width) in enumerate(zip(columns, cells, widths, strict=True)):
        space = " " * (width - display_width(cell))
        painted = paint(cell, styles[position], colour=colour)
        if column.kind in _NUMBERS:
            parts.append(space + painted)
        else:
            parts.append(painted if position == last else painted + space)
    return "  ".join(parts).rstrip()
