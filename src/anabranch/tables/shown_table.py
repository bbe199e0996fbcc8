"""A table whose bytes are in the form in which they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from anabranch.tables.byte_forms import ByteForm, form_text
from anabranch.tables.table import Note, Table

__all__ = ["ShownTable"]


class ShownTable:
    """A table of texts instead of bytes that are of another kind."""

    byte_forms: Mapping[int, ByteForm] = MappingProxyType({})

    def __init__(self, table: Table) -> None:
        self._table = table
        schema = table.schema
        for place in table.byte_forms:
            schema = schema.set(place, schema.field(place).with_type(pa.string()))
        self.schema = schema

    @property
    def notes(self) -> Sequence[Note]:
        """Those of the table."""
        return self._table.notes

    @property
    def pieces(self) -> Sequence[int]:
        """Those of the table."""
        return self._table.pieces

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return self._table.count_rows()

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:
        """Yields the rows of a piece."""
        for batch in self._table.read(piece, columns):
            yield self._show(batch, columns)

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = range(len(self.schema)) if columns is None else columns
        for batch in self._table.batches(places):
            yield self._show(batch, places)

    def _show(self, batch: Any, places: Sequence[int]) -> Any:
        if not places:
            return batch
        arrays = [
            _form(column, self._table.byte_forms.get(place))
            for column, place in zip(batch.columns, places, strict=True)
        ]
        fields = [self.schema.field(place) for place in places]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _form(array: Any, form: ByteForm | None) -> Any:
    if form is None:
        return array
    return pa.array([form_text(value, form) for value in array.to_pylist()], pa.string())
