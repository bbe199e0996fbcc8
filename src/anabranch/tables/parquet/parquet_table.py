"""Parquet files of tables, as Arrow reads them.

INT96 timestamps are read in microseconds, which have the year 9999, unless one has nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.lists import entries, is_list
from anabranch.tables.parquet.form import leaf_count
from anabranch.tables.parquet.schema_elements import Element, is_enum, is_interval, read_columns
from anabranch.tables.table import batch_rows

__all__ = ["ParquetTable", "UnreadableColumn"]


class UnreadableColumn(ValueError):
    """A column has values that no type holds together; the message names it."""


class ParquetTable:
    """A Parquet file. Raises what Arrow does for one that is damaged, UnreadableColumn for INT96
    timestamps of which some have nanoseconds, and others are out of the range of these.
    """

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415  an optional library

        self.path = path
        self._file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us", pre_buffer=False)
        self.metadata = self._file.metadata
        names = self._int96_names()
        if names and self._has_nanoseconds(names):
            self._file = pq.ParquetFile(path, coerce_int96_timestamp_unit="ns")
        self.int96 = frozenset(names)
        """The names of the columns that have INT96 timestamps, also within other types."""

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the file."""
        return self._file.schema_arrow

    @cached_property
    def elements(self) -> Mapping[str, Element]:
        """The columns of the file's own schema by name. Raises ValueError for a malformed one."""
        with open(self.path, "rb") as file:  # noqa: PTH123
            return read_columns(file)

    @cached_property
    def byte_forms(self) -> Mapping[str, ByteForm]:
        """What the bytes of columns are that Arrow reads as bytes alone."""
        found: dict[str, ByteForm] = {}
        for name, element in self.elements.items():
            if is_interval(element):
                found[name] = "interval"
            elif is_enum(element):
                found[name] = "text"
        return found

    @cached_property
    def pieces(self) -> Sequence[int]:
        """The numbers of rows of the row groups."""
        about = self.metadata
        return [about.row_group(number).num_rows for number in range(about.num_row_groups)]

    def read(self, piece: int, names: Sequence[str]) -> Iterator[Any]:
        """Yields record batches of some columns of a row group."""
        return _read(self._file, piece, names)

    def _int96_names(self) -> list[str]:
        schema = self._file.schema_arrow
        names = [field.name for field in schema for _ in range(leaf_count(field.type))]
        columns = self._file.schema
        found = [
            names[number]
            for number in range(len(columns))
            if columns.column(number).physical_type == "INT96"
        ]
        return list(dict.fromkeys(found))

    def _has_nanoseconds(self, names: Sequence[str]) -> bool:
        """Returns whether a timestamp is no whole microsecond. Raises UnreadableColumn."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        fine = pq.ParquetFile(self.path, coerce_int96_timestamp_unit="ns")
        has_nanoseconds: set[str] = set()
        far: set[str] = set()
        for piece in range(self.metadata.num_row_groups):
            pairs = zip(_read(self._file, piece, names), _read(fine, piece, names), strict=True)
            for micros, nanos in pairs:
                for name in names:
                    for one, other in zip(
                        _instants(micros[name]), _instants(nanos[name]), strict=True
                    ):
                        # beyond the range of nanoseconds, Arrow wraps them: differences still hold
                        rest = other - one * 1000
                        if rest.any():
                            has_nanoseconds.add(name)
                        if (other // 1000 != one).any():
                            far.add(name)
        if has_nanoseconds and far:
            both = sorted(has_nanoseconds & far) or sorted(far)
            raise UnreadableColumn(
                f"the column {both[0]!r} has timestamps with nanoseconds, and others that are out "
                "of the range of nanoseconds"
            )
        return bool(has_nanoseconds)


def _read(file: Any, piece: int, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415

    if not names:  # Arrow counts the rows of no columns wrongly
        count = file.metadata.row_group(piece).num_rows
        nothing = pa.record_batch({"": pa.nulls(count)})
        yield nothing.select([])
        return
    # a name with a dot also selects the fields of other columns
    for batch in file.iter_batches(batch_rows(len(names)), row_groups=[piece], columns=list(names)):
        yield batch.select(list(names))


def _instants(array: Any) -> list[Any]:
    """Returns the timestamps in an array, also within other types, as NumPy arrays of integers."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    if kinds.is_timestamp(kind):
        return [array.view(pa.int64()).drop_null().to_numpy()]
    if kinds.is_struct(kind):
        return [each for field in array.flatten() for each in _instants(field)]
    if kinds.is_map(kind) or is_list(kind):
        return [each for part in entries(array)[1] for each in _instants(part)]
    return []
