"""The first rows of a table, as many as fit in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from anabranch.tables.table import Table

__all__ = ["MAX_ROWS", "Sample", "read_sample"]

MAX_ROWS = 100_000
"""The most rows of a sample."""

_FEW_ROWS = 5_000
"""The most rows of a sample where more take too much memory."""


class Sample(msgspec.Struct, frozen=True):
    """An Arrow table of the first rows, and whether these are all. It has the first columns if not
    all fit in memory.
    """

    table: Any
    is_complete: bool

    def first_rows(self) -> Sample:
        """Returns fewer rows of it."""
        fewer = self.table.slice(0, _FEW_ROWS)
        return Sample(fewer, self.is_complete and fewer.num_rows == self.table.num_rows)

    @property
    def is_large(self) -> bool:
        """Whether `first_rows` has fewer rows."""
        return bool(self.table.num_rows > _FEW_ROWS)


def read_sample(table: Table, max_bytes: int) -> Sample:
    """Returns the first rows of a table of at most about `max_bytes`. Raises UnreadableTable."""
    batches: list[Any] = []
    rows = size = 0
    columns = len(table.schema)
    for batch in table.batches():
        rows += batch.num_rows
        size += batch.nbytes
        batches.append(batch)
        if rows > MAX_ROWS:
            break
        if size > max_bytes:
            # some rows of all columns, or of as many as fit
            if rows <= _FEW_ROWS:
                columns = max(1, columns * max_bytes // size)
            read = pa.Table.from_batches(batches, schema=table.schema)
            kept = read.select(range(columns)).slice(0, _FEW_ROWS)
            return Sample(kept, is_complete=False)
    read = pa.Table.from_batches(batches, schema=table.schema)
    return Sample(read.slice(0, MAX_ROWS), rows <= MAX_ROWS)
