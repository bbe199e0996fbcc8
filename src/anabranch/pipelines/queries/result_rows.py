"""The rows of results as JSON, as many as the limits allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anabranch.tables.json_values import json_column, to_json

__all__ = ["limited_rows", "result_rows"]

_BATCH = 200
_CELL_BYTES = 16
"""The size of a value in a result, beside its text."""

_NOT_PYTHON = ("TIMESTAMP_NS", "TIME_NS", "INTERVAL", "MAP(")
"""Types whose values Python's types cut off: they come by Arrow."""

_NOT_ARROW = ("UHUGEINT", "BIGNUM", "BIT", "TIME WITH TIME ZONE")
"""Types whose values Arrow's types cut off."""


def result_rows(cursor: Any, max_rows: int, max_bytes: int) -> dict[str, Any]:
    """Returns a result's columns and its first rows. Raises ValueError for one with types of which
    no library has all, and what DuckDB raises.
    """
    columns = [{"name": each[0], "type": str(each[1])} for each in cursor.description]
    kinds = [each["type"] for each in columns]
    if not _has(kinds, _NOT_PYTHON):
        rows = (row for batch in iter(lambda: cursor.fetchmany(_BATCH), []) for row in batch)
        shown: Iterator[list[Any]] = ([to_json(value) for value in row] for row in rows)
    elif _has(kinds, _NOT_ARROW):
        raise ValueError(
            f"a result cannot have values of {' and '.join(_NOT_PYTHON[:2])} or intervals and maps "
            f"beside those of {', '.join(_NOT_ARROW)}: cast one to VARCHAR"
        )
    else:
        shown = _arrow_rows(cursor.to_arrow_reader(_BATCH))
    return {"columns": columns, **limited_rows(shown, max_rows, max_bytes)}


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


def _arrow_rows(batches: Iterable[Any]) -> Iterator[list[Any]]:
    for batch in batches:
        columns = [json_column(column) for column in batch.columns]
        yield from map(list, zip(*columns, strict=True))


def _has(kinds: Sequence[str], names: Sequence[str]) -> bool:
    return any(name in kind for kind in kinds for name in names)
