"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.tables.byte_forms import ByteForm, form_text
from anabranch.tables.kept_stream import KeptStream
from anabranch.tables.parquet.form import leaf_count
from anabranch.tables.table import Note, batch_rows, unreadable

__all__ = ["ParquetTable"]

_BUFFER_BYTES = 1 << 20
_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, KeyError)
_MAX_THRIFT_BYTES = 256 << 20
"""The most memory that a footer may take; a damaged one may name any size."""


class ParquetTable:
    """A Parquet file. INT96 is read as microseconds: nanoseconds do not reach the year 9999. ENUM
    and INTERVAL are read as text, in their JSON form: Arrow has them as bytes.
    """

    def __init__(self, stream: BinaryIO) -> None:
        try:
            self._file = self._open(stream)
            stored, schema = self._file.schema, self._file.schema_arrow
        except _ERRORS as error:
            raise unreadable("Parquet", error) from error
        self._forms = _byte_forms(stored, schema)
        for place in self._forms:
            schema = schema.set(place, schema.field(place).with_type(pa.string()))
        self.schema = schema
        int96 = [
            stored.column(number).path
            for number in range(len(stored.names))
            if stored.column(number).physical_type == "INT96"
        ]
        self.notes: Sequence[Note] = [
            Note(f"Column {path} has INT96 timestamps, which are read in microseconds.")
            for path in int96
        ]

    def _open(self, stream: BinaryIO) -> Any:
        return pq.ParquetFile(
            KeptStream(stream),
            buffer_size=_BUFFER_BYTES,
            coerce_int96_timestamp_unit="us",
            thrift_string_size_limit=_MAX_THRIFT_BYTES,
        )

    def count_rows(self) -> int:
        """Returns the number of rows, from the footer."""
        return int(self._file.metadata.num_rows)

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        names = self.schema.names
        places = list(range(len(names))) if columns is None else list(columns)
        rows = batch_rows(len(places))
        if not places:
            yield from _without_columns(self.count_rows(), rows)
            return
        # pyarrow selects by name, and takes a name with dots for a path as well
        is_selected = columns is not None and len(set(names)) == len(names)
        selected = [names[place] for place in places] if is_selected else None
        try:
            for batch in self._file.iter_batches(rows, columns=selected):
                if is_selected:
                    at = [batch.schema.get_field_index(names[place]) for place in places]
                else:
                    at = places
                arrays = [
                    self._shown(batch.column(number), place)
                    for number, place in zip(at, places, strict=True)
                ]
                fields = [self.schema.field(place) for place in places]
                yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        except _ERRORS as error:
            raise unreadable("Parquet", error) from error

    def _shown(self, array: Any, place: int) -> Any:
        form = self._forms.get(place)
        if form is None:
            return array
        return pa.array([form_text(value, form) for value in array.to_pylist()], pa.string())


def _byte_forms(stored: Any, schema: Any) -> Mapping[int, ByteForm]:
    """Returns the places of columns whose bytes are of another kind."""
    found: dict[int, ByteForm] = {}
    leaf = 0
    for place, field in enumerate(schema):
        leaves = leaf_count(field.type)
        if leaves == 1 and not pa.types.is_nested(field.type):
            column = stored.column(leaf)
            if column.converted_type == "INTERVAL":
                found[place] = "interval"
            elif "ENUM" in (column.converted_type, column.logical_type.type):
                found[place] = "text"
        leaf += leaves
    return found


def _without_columns(count: int, rows: int) -> Iterator[Any]:
    """Yields batches that have rows and no columns."""
    for start in range(0, count, rows):
        empty = pa.array([{}] * min(rows, count - start), pa.struct([]))
        yield pa.RecordBatch.from_struct_array(empty)
