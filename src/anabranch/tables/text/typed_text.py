"""A table in text with types: for SQL and pages, where a column of digits is one of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from anabranch.tables.table import Note, UndividedTable
from anabranch.tables.text.cell_types import ColumnType, cast_cells
from anabranch.tables.text.text_table import TextTable

__all__ = ["TypedText"]

_GROUP_BYTES = 16 << 20
"""Cells whose types are found at once, as bytes."""


class TypedText(UndividedTable):
    """A table of text whose columns have types that hold each of their cells: of all rows, or, if
    `rows` is given, of so many first ones. A later cell of another type is an error then.
    """

    def __init__(self, table: TextTable, *, rows: int | None = None) -> None:
        self._table = table
        self._read: list[Any] | None = None
        self._types = [ColumnType() for _ in table.schema]
        groups = _groups(table.batches())
        first = next(groups, None)
        second = None if first is None else next(groups, None)
        if first is not None:
            self._add(first)
        if second is None:  # the rows need not be read again
            self._read = [] if first is None else first.to_batches()
        elif first is not None:
            count = first.num_rows
            for group in itertools.chain([second], groups):
                if rows is not None and count >= rows:
                    break
                self._add(group)
                count += group.num_rows
        self.schema = pa.schema(
            [(field.name, each.type) for field, each in zip(table.schema, self._types, strict=True)]
        )

    def _add(self, group: Any) -> None:
        for each, column in zip(self._types, group.columns, strict=True):
            each.add(column.combine_chunks())

    @property
    def notes(self) -> Sequence[Note]:
        """Those of the text."""
        return self._table.notes

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return self._table.count_rows()

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = list(range(len(self.schema))) if columns is None else list(columns)
        schema = pa.schema([self.schema.field(place) for place in places])
        for batch in self._texts(places):
            if not places:
                yield batch
                continue
            arrays = [
                cast_cells(column, field.type, field.name)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _texts(self, places: list[int]) -> Iterator[Any]:
        if self._read is None:
            yield from self._table.batches(places)
            return
        for batch in self._read:
            yield batch.select(places)


def _groups(batches: Iterator[Any]) -> Iterator[Any]:
    """Yields tables of about as many bytes each."""
    group: list[Any] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(group)
            group, size = [], 0
    if group:
        yield pa.Table.from_batches(group)
