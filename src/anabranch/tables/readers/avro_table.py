"""Avro files, with the file's own schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import fastavro
import fastavro.schema
import pyarrow as pa

from anabranch.tables.readers.avro_types import AvroColumn, avro_column, stored_schema
from anabranch.tables.table import Note, UndividedTable, UnreadableTable, batch_rows, unreadable

__all__ = ["AvroTable"]

_VALUE = "value"
"""The column of a file whose schema is no record."""


class AvroTable(UndividedTable):
    """An Avro file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        try:
            schema = self._blocks().writer_schema
            named: dict[str, Any] = {}
            stored = fastavro.parse_schema(stored_schema(schema))
            parsed = fastavro.parse_schema(schema, named_schemas=named)
            self._stored = stored
            self._is_record = isinstance(parsed, dict) and parsed["type"] in ("record", "error")
            self._columns: list[tuple[str, AvroColumn]]
            if self._is_record:
                above = (parsed["name"],)
                self._columns = [
                    (each["name"], avro_column(each["type"], named, above))
                    for each in parsed["fields"]
                ]
            else:
                self._columns = [(_VALUE, avro_column(parsed, named))]
            self.schema = pa.schema([(name, column.type) for name, column in self._columns])
        except UnreadableTable:
            raise
        except Exception as error:  # fastavro raises whatever its damaged bytes lead to
            raise unreadable("Avro", error) from error
        self.notes: Sequence[Note] = [
            Note(f"Column {name} has {column.note}, which is shown as JSON.")
            for name, column in self._columns
            if column.note
        ]

    def count_rows(self) -> int:
        """Returns the number of rows, from the heads of the blocks."""
        try:
            return sum(block.num_records for block in self._blocks())
        except Exception as error:
            raise unreadable("Avro", error) from error

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = range(len(self._columns)) if columns is None else columns
        chosen = [self._columns[place] for place in places]
        schema = pa.schema([(name, column.type) for name, column in chosen])
        rows = batch_rows(len(self._columns))
        try:
            records: list[Any] = []
            for record in self._records():
                records.append(record)
                if len(records) == rows:
                    yield self._batch(records, chosen, schema)
                    records = []
            if records:
                yield self._batch(records, chosen, schema)
        except UnreadableTable:
            raise
        except Exception as error:
            raise unreadable("Avro", error) from error

    def _batch(
        self, records: list[Any], chosen: Sequence[tuple[str, AvroColumn]], schema: Any
    ) -> Any:
        if not chosen:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(records), pa.struct([])))
        arrays = [
            column.array([record[name] for record in records] if self._is_record else records)
            for name, column in chosen
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _records(self) -> Iterator[Any]:
        for block in self._blocks():
            for _ in range(block.num_records):
                yield fastavro.schemaless_reader(
                    block.bytes_, self._stored, None, return_named_type=True
                )

    def _blocks(self) -> Any:
        self._stream.seek(0)
        return fastavro.block_reader(self._stream)
