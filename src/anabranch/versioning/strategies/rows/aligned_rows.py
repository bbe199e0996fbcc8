"""Rows of several files that belong together, read side by side.

Files that are versions of each other mostly have their rows in one order. Then each is read once,
and no table of them is needed in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["aligned_batches", "are_aligned"]

_BATCH_ROWS = 16_384
_MAX_SPAN_ROWS = 4 * _BATCH_ROWS


def are_aligned(numbers: Sequence[Any]) -> bool:
    """Returns whether row numbers increase in each of these NumPy arrays; -1 is no row."""
    return all(bool((each[each >= 0][1:] > each[each >= 0][:-1]).all()) for each in numbers)


def aligned_batches(
    batches: Mapping[str, Iterator[Any]],
    schemas: Mapping[str, Any],
    numbers: Mapping[str, Any],
    schema: Any,
) -> Iterator[Any]:
    """Yields record batches of `schema`: the columns of each side, then the row numbers of all
    sides. `batches` are all rows of each side in order, with the columns of its schema; `numbers`
    those of the rows that belong together, in arrays of one length that `are_aligned`.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library

    cursors = {side: _Cursor(rows, schemas[side]) for side, rows in batches.items()}
    count = len(next(iter(numbers.values())))
    start = 0
    while start < count:
        here = {side: each[start : start + _BATCH_ROWS] for side, each in numbers.items()}
        length = min(_near(each) for each in here.values())
        here = {side: each[:length] for side, each in here.items()}
        start += length
        columns = [column for side, cursor in cursors.items() for column in cursor.take(here[side])]
        columns += [pa.array(rows, mask=rows < 0) for rows in here.values()]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _near(rows: Any) -> int:
    """Returns how many of the first row numbers are near to each other: what is between them is
    read, too.
    """
    import numpy as np  # noqa: PLC0415

    present = rows[rows >= 0]
    far = np.flatnonzero(rows >= present[0] + _MAX_SPAN_ROWS) if len(present) else present
    return int(far[0]) if len(far) else len(rows)


class _Cursor:
    """Reads rows by increasing numbers."""

    def __init__(self, batches: Iterator[Any], schema: Any) -> None:
        self._batches = batches
        self._schema = schema
        self._kept: list[Any] = []
        self._start = 0
        self._end = 0

    def take(self, rows: Any) -> list[Any]:
        """Returns the columns of rows with these numbers, null for -1."""
        import pyarrow as pa  # noqa: PLC0415

        present = rows[rows >= 0]
        if not len(present):
            return [pa.nulls(len(rows), field.type) for field in self._schema]
        first, last = int(present[0]), int(present[-1])
        while self._kept and self._start + self._kept[0].num_rows <= first:
            self._start += self._kept.pop(0).num_rows
        while self._end <= last:
            batch = next(self._batches)
            self._end += batch.num_rows
            if self._end > first:
                self._kept.append(batch)
            else:
                self._start = self._end
        return [self._column(number, rows, first, last) for number in range(len(self._schema))]

    def _column(self, number: int, rows: Any, first: int, last: int) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        parts, start = [], self._start
        for batch in self._kept:
            low, high = max(first - start, 0), min(last + 1 - start, batch.num_rows)
            parts.append(batch.column(number).slice(low, high - low))
            start += batch.num_rows
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        if len(whole) == len(rows) and bool((rows >= 0).all()):  # none is left out or missing
            return whole
        return whole.take(pa.array(rows - first, mask=rows < 0))
