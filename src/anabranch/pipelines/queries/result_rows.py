"""The rows of results as JSON, as many as the limits allow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anabranch.tables.json_values import json_column, to_json, whole_numbers

__all__ = ["limited_rows", "result_rows"]

_BATCH = 200
_CELL_BYTES = 16
"""The size of a value in a result, beside its text."""

_NOT_PYTHON = ("TIMESTAMP_NS", "TIME_NS", "INTERVAL", "MAP(")
"""Types whose values Python's types cut off: they come by Arrow."""

_DATES = ("DATE", "TIMESTAMP")
"""Types whose infinite values, and those before the year 1, Python's types do not have."""

_NOT_ARROW = ("UHUGEINT", "BIT", "TIME WITH TIME ZONE", "VARIANT")
"""Types whose values Arrow's types cut off."""

_NOWHERE = "BIGNUM"
"""The type whose values come as doubles, or as bytes."""

_CLAMPED = (
    *(dt.date.min, dt.date.max, dt.datetime(1, 1, 1)),  # noqa: DTZ001  without a zone
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
)
"""What DuckDB returns to Python for infinite values."""


def result_rows(cursor: Any, max_rows: int, max_bytes: int) -> dict[str, Any]:
    """Returns a result's columns and its first rows. Raises ValueError for one with types of which
    no library has all, and what DuckDB raises.
    """
    columns = [{"name": each[0], "type": str(each[1])} for each in cursor.description]
    kinds = [each["type"] for each in columns]
    if _has(kinds, [_NOWHERE]):
        raise ValueError(f"a result cannot have values of {_NOWHERE}: cast them to VARCHAR")
    if not _has(kinds, _NOT_ARROW) and _has(kinds, (*_NOT_PYTHON, *_DATES)):
        shown = _arrow_rows(cursor.to_arrow_reader(_BATCH), kinds)
    elif _has(kinds, _NOT_PYTHON):
        raise ValueError(
            f"a result cannot have values of {' and '.join(_NOT_PYTHON[:2])} or intervals and maps "
            f"beside those of {', '.join(_NOT_ARROW)}: cast one to VARCHAR"
        )
    else:
        shown = _python_rows(cursor, has_dates=_has(kinds, _DATES))
    return {"columns": columns, **limited_rows(shown, max_rows, max_bytes)}


def _python_rows(cursor: Any, *, has_dates: bool) -> Iterator[list[Any]]:
    for batch in iter(lambda: cursor.fetchmany(_BATCH), []):
        for row in batch:
            if has_dates and any(map(_may_be_infinite, row)):
                raise ValueError(
                    "a result cannot have infinite dates or times, or the first or last ones of "
                    f"Python, beside values of {', '.join(_NOT_ARROW)}: cast one to VARCHAR"
                )
            yield [to_json(value) for value in row]


def _may_be_infinite(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_may_be_infinite, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_may_be_infinite, value))
    return (value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value) in _CLAMPED


def limited_rows(rows: Iterable[list[Any]], max_rows: int, max_bytes: int) -> dict[str, Any]:
    """Returns the first rows, and whether there are more: `rows`, `has_more`."""
    kept: list[list[Any]] = []
    size = 0
    for row in rows:
        size += sum(_CELL_BYTES + len(str(value)) for value in row)
        if len(kept) == max_rows or size > max_bytes:
            return {"rows": kept, "has_more": True}
        kept.append(row)
    return {"rows": kept, "has_more": False}


def _arrow_rows(batches: Iterable[Any], kinds: Sequence[str]) -> Iterator[list[Any]]:
    for batch in batches:
        columns = [
            whole_numbers(column) if kind == "HUGEINT" else json_column(column)
            for column, kind in zip(batch.columns, kinds, strict=True)
        ]
        yield from map(list, zip(*columns, strict=True))


def _has(kinds: Sequence[str], names: Sequence[str]) -> bool:
    return any(name in kind for kind in kinds for name in names)
