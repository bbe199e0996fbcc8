"""Rows of a table in a file by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.tables.row_taking import take_values
from anabranch.tables.table import Table, places

__all__ = ["rows_at"]


def rows_at(table: Table, names: Sequence[str], numbers: Any) -> Iterator[Any]:
    """Yields record batches of some columns of the rows with these numbers, a sorted NumPy array
    without repetitions. Pieces without such rows are not read.
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    columns_at = places(table, names)
    first = 0
    for piece, count in enumerate(table.pieces):
        low, high = np.searchsorted(numbers, [first, first + count])
        if low == high:
            first += count
            continue
        start = first
        for batch in table.read(piece, columns_at):
            low, high = np.searchsorted(numbers, [start, start + batch.num_rows])
            if low < high:
                here = numbers[low:high] - start
                columns = [take_values(column, here) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)
            start += batch.num_rows
        first += count
