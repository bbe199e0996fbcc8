"""The dialect of a text, found from its first rows."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

import msgspec

from anabranch.tables.text.cell_types import is_text
from anabranch.tables.text.cells import Dialect, Row, read_rows

__all__ = ["FoundDialect", "find_dialect"]

_DELIMITERS = (",", "\t", ";", "|", "\x01")
_MAX_ROWS = 500
_MAX_CELLS = 50_000
_MAX_MORE_COLUMNS = 64


class FoundDialect(msgspec.Struct, frozen=True):
    """A dialect; whether the first row names the columns; their names. Rows among the first ones
    may have more cells than names: those columns have names by their number.
    """

    dialect: Dialect
    has_header: bool
    names: tuple[str, ...]
    width: int
    """The number of cells of the first row."""


def find_dialect(text: str, preferred: str) -> FoundDialect:
    """Returns the dialect of a text, of which this is the beginning. `preferred` is the delimiter
    that the name of its format says.
    """
    order = sorted(_DELIMITERS, key=lambda each: each != preferred)
    quote = _quote(text, order)
    escape = "\\" if _has_escapes(text, quote) else ""
    candidates = [Dialect(delimiter, quote, escape) for delimiter in order]
    read = [(dialect, _rows(text, dialect)) for dialect in candidates]
    # the first of equals: the preferred one
    dialect, rows = max(read, key=lambda each: _regularity(each[1]))
    return _with_columns(dialect, rows)


def _rows(text: str, dialect: Dialect) -> list[Row]:
    rows, cells = [], 0
    for row, _ in islice(read_rows([text], dialect), _MAX_ROWS):
        rows.append(row)
        cells += len(row)
        if cells > _MAX_CELLS:
            break
    return rows


def _regularity(rows: list[Row]) -> tuple[float, int]:
    """Returns the share of rows that have the most frequent number of cells, if that is more than
    one, and whether the first row has it.
    """
    counts = Counter(map(len, rows))
    if not counts:
        return 0.0, 0
    width, rows_of_width = counts.most_common(1)[0]
    if width == 1:
        is_first = len(rows[0]) > 1
        return (0.01 if is_first else 0.0), 0
    share = rows_of_width / len(rows)
    return (share if len(rows[0]) > 1 else share / 2), int(len(rows[0]) == width)


def _with_columns(dialect: Dialect, rows: list[Row]) -> FoundDialect:
    if not rows:
        return FoundDialect(dialect, has_header=False, names=(), width=0)
    first, others = rows[0], rows[1:]
    widest = max(map(len, rows))
    has_header = _has_header(first, others)
    least = len(first)
    width = min(widest, least + _MAX_MORE_COLUMNS)
    if has_header and others and all(len(row) == least + 1 and row[-1] is None for row in others):
        width = least  # each row ends with a delimiter
    names = [cell or "" for cell in first] if has_header else []
    names += [f"column{number}" for number in range(len(names), width)]
    return FoundDialect(dialect, has_header, tuple(names), len(first))


def _has_header(first: Row, others: list[Row]) -> bool:
    """Returns whether the first row names the columns: it has texts only, such as `id`, or one over
    a column without texts, as in `id,2019,2020`.
    """
    if all(is_text(cell) for cell in first):
        return True
    for at, cell in enumerate(first):
        below = [row[at] for row in others if at < len(row) and row[at] is not None]
        if cell is not None and is_text(cell) and below and not any(map(is_text, below)):
            return True
    return False


def _quote(text: str, delimiters: list[str]) -> str:
    """Returns the character around cells: single quotes if there are no double ones, and cells with
    delimiters have them.
    """
    if '"' in text or "'" not in text:
        return '"'
    ends = "".join(map(re.escape, delimiters))
    quoted = re.compile(
        rf"(?:^|[{ends}])'[^'\r\n]*[{ends}][^'\r\n]*'(?=[{ends}\r\n]|\Z)", re.MULTILINE
    )
    return "'" if quoted.search(text) else '"'


def _has_escapes(text: str, quote: str) -> bool:
    """Returns whether quotes within cells follow a backslash."""
    escaped = f"\\{quote}"
    if escaped not in text:
        return False
    # a cell may as well end with a backslash
    inside = re.compile(rf"\\{quote}(?![,;|\t\r\n]|\Z)")
    return bool(inside.search(text)) and f"{quote * 2}" not in text.replace(escaped, "")
