"""Parquet files as Arrow reads them. Row groups are the pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.kept_stream import KeptStream
from anabranch.tables.parquet.form import leaf_count
from anabranch.tables.parquet.int96 import Int96Units, int96_places, int96_units
from anabranch.tables.parquet.schema_elements import Element, read_columns
from anabranch.tables.table import Note, batch_rows, unreadable

__all__ = ["ParquetTable"]

_BUFFER_BYTES = 1 << 20
_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, KeyError)
_MAX_THRIFT_BYTES = 256 << 20
"""The most memory that a footer may take; a damaged one may name any size."""


class ParquetTable:
    """A Parquet file in a stream, which may be a file of Arrow's. Each column of INT96 timestamps
    has the unit that holds them, which is found from all rows, or from so many first `rows` for
    callers that read no others.
    """

    def __init__(self, stream: BinaryIO, *, rows: int | None = None) -> None:
        self._stream = stream
        try:
            self._file = self._open("us")
            stored, schema = self._file.schema, self._file.schema_arrow
            self._fine, units = self._file, Int96Units(frozenset(), frozenset())
            places = int96_places(schema, stored)
            if places:
                self._fine = self._open("ns")
                pairs = self._in_both_units(places, rows)
                units = int96_units(pairs, places, rows)
        except _ERRORS as error:
            raise unreadable("Parquet", error) from error
        self._fine_places = units.fine
        for place in units.fine:
            schema = schema.set(place, self._fine.schema_arrow.field(place))
        self.schema = schema
        self.metadata = self._file.metadata
        self.byte_forms = _byte_forms(stored, schema)
        self.int96 = frozenset(schema.names[place] for place in places)
        """The names of the columns that have INT96 timestamps, also within other types."""

        self.notes: Sequence[Note] = [
            Note(
                f"Column {schema.names[place]} has timestamps with nanoseconds, and others that "
                "are out of the range of nanoseconds: it is read in microseconds.",
                inexact_column=schema.names[place],
            )
            for place in sorted(units.mixed)
        ]

    def _open(self, unit: str) -> Any:
        is_file = isinstance(self._stream, pa.NativeFile)
        return pq.ParquetFile(
            self._stream if is_file else KeptStream(self._stream),
            buffer_size=0 if is_file else _BUFFER_BYTES,
            coerce_int96_timestamp_unit=unit,
            pre_buffer=False,
            thrift_string_size_limit=_MAX_THRIFT_BYTES,
        )

    @cached_property
    def elements(self) -> Mapping[str, Element]:
        """The columns of the file's own schema by name. Raises ValueError for a malformed one."""
        return read_columns(self._stream)

    @cached_property
    def pieces(self) -> Sequence[int]:
        """The numbers of rows of the row groups."""
        about = self.metadata
        return [about.row_group(number).num_rows for number in range(about.num_row_groups)]

    def count_rows(self) -> int:
        """Returns the number of rows, from the footer."""
        return int(self.metadata.num_rows)

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:
        """Yields the rows of a row group."""
        yield from self._read(list(columns), [piece])

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = list(range(len(self.schema))) if columns is None else list(columns)
        yield from self._read(places, None)

    def _read(self, places: list[int], groups: list[int] | None) -> Iterator[Any]:
        size = batch_rows(len(places))
        if not places:  # Arrow counts the rows of no columns wrongly
            count = self.count_rows() if groups is None else sum(self.pieces[n] for n in groups)
            yield from _without_columns(count, size)
            return
        fine = [place for place in places if place in self._fine_places]
        usual = [place for place in places if place not in self._fine_places]
        schema = pa.schema([self.schema.field(place) for place in places])
        try:
            if not fine or not usual:
                file = self._fine if fine else self._file
                for columns in _columns(file, places, groups, size):
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
                return
            pairs = zip(
                _columns(self._file, usual, groups, size),
                _columns(self._fine, fine, groups, size),
                strict=True,
            )
            for one, other in pairs:
                found = dict(zip((*usual, *fine), (*one, *other), strict=True))
                yield pa.RecordBatch.from_arrays([found[place] for place in places], schema=schema)
        except _ERRORS as error:
            raise unreadable("Parquet", error) from error

    def _in_both_units(self, places: list[int], rows: int | None) -> Iterator[tuple[Any, Any]]:
        size = batch_rows(len(places))
        size = size if rows is None else max(1, min(size, rows))
        for columns in zip(
            _columns(self._file, places, None, size),
            _columns(self._fine, places, None, size),
            strict=True,
        ):
            one, other = (pa.RecordBatch.from_arrays(c, names=[""] * len(places)) for c in columns)
            yield one, other


def _columns(
    file: Any, places: Sequence[int], groups: list[int] | None, size: int
) -> Iterator[list[Any]]:
    """Yields the columns at places, in batches of so many rows."""
    names = file.schema_arrow.names
    # pyarrow selects by name, and takes a name with dots for a path as well
    is_selected = len(places) < len(names) and len(set(names)) == len(names)
    selected = [names[place] for place in places] if is_selected else None
    for batch in file.iter_batches(size, row_groups=groups, columns=selected):
        if is_selected:
            yield [batch.column(batch.schema.get_field_index(name)) for name in selected or ()]
        else:
            yield [batch.column(place) for place in places]


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
