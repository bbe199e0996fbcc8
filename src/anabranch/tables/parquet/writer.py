"""Writes Parquet files in the form of others."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from anabranch.tables.parquet.form import ColumnForm, FileForm, leaf_count
from anabranch.tables.row_taking import is_takeable, take_values

__all__ = ["RowGroupWriter", "open_writer"]

_MAX_GROUP_BYTES = 256 << 20
"""A row group is written once it has this much in memory, though that of the other has more."""


class RowGroupWriter:
    """Collects batches, and writes row groups."""

    def __init__(self, writer: Any, rows: int) -> None:
        self._writer = writer
        self._rows = rows
        self._batches: list[Any] = []
        self._count = 0
        self._bytes = 0

    def write(self, batch: Any) -> None:
        """Writes a record batch of the schema."""
        while self._count + batch.num_rows >= self._rows:
            rest = self._rows - self._count
            self._add(_part(batch, 0, rest))
            self.flush()
            batch = _part(batch, rest, batch.num_rows - rest)
        if batch.num_rows:
            self._add(batch)
        if self._bytes >= _MAX_GROUP_BYTES:
            self.flush()

    def _add(self, batch: Any) -> None:
        self._batches.append(batch)
        self._count += batch.num_rows
        self._bytes += batch.get_total_buffer_size()

    def flush(self) -> None:
        """Writes what was collected as a row group."""
        import pyarrow as pa  # noqa: PLC0415  an optional library

        if self._count:
            table = pa.Table.from_batches(self._batches)
            self._writer.write_table(table, row_group_size=max(self._count, 1))
        self._batches, self._count, self._bytes = [], 0, 0


def _part(batch: Any, start: int, length: int) -> Any:
    """Returns some rows of a batch. Parquet's writer does not take slices of views."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    if length == batch.num_rows:
        return batch
    columns = [
        column.slice(start, length)
        if is_takeable(column.type)
        else take_values(column, np.arange(start, start + length))
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


@contextmanager
def open_writer(
    output: BinaryIO, schema: Any, form: FileForm, *, int96: bool, stores_schema: bool
) -> Iterator[RowGroupWriter]:
    """Yields a writer of a file with an Arrow schema, whose metadata are the footer's entries.
    `int96` writes all timestamps as INT96. `stores_schema` keeps types that only Arrow has.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415

    forms = _by_path(schema, form, int96=int96)
    encodings = {path: each.encoding for path, each in forms.items() if each.encoding}
    dictionaries = [path for path, each in forms.items() if each.has_dictionary]
    statistics = [path for path, each in forms.items() if each.has_statistics]
    # Arrow compresses columns that it finds no codec for by none
    options = {
        "compression": {path: each.codec for path, each in forms.items()} or "NONE",
        "use_dictionary": dictionaries,
        "write_statistics": statistics,
        "store_schema": stores_schema,
        "use_deprecated_int96_timestamps": int96,
        "write_page_index": form.has_page_index,
        "store_decimal_as_integer": form.has_integer_decimals,
    }
    if encodings:
        options |= {"column_encoding": encodings}
    with pq.ParquetWriter(output, schema, **options) as writer:
        groups = RowGroupWriter(writer, form.group_rows)
        yield groups
        groups.flush()


def _by_path(schema: Any, form: FileForm, *, int96: bool) -> Mapping[str, ColumnForm]:
    """Returns the form of each column of Parquet by its path."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    empty = io.BytesIO()
    pq.ParquetWriter(empty, schema, use_deprecated_int96_timestamps=int96).close()
    columns = pq.ParquetFile(empty).schema
    forms: list[ColumnForm] = []
    for field in schema:
        known: Sequence[ColumnForm] = form.columns.get(field.name, ())
        count = leaf_count(field.type)
        forms += known if len(known) == count else [_plain(known, form.default)] * count
    return {columns.column(number).path: each for number, each in enumerate(forms)}


def _plain(known: Sequence[ColumnForm], default: ColumnForm) -> ColumnForm:
    """Returns the form of the parts of a column that has other parts now."""
    if not known:
        return default
    first = known[0]
    return ColumnForm(first.codec, first.has_dictionary, None, first.has_statistics)
