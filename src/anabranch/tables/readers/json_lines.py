"""JSON lines whose values 64-bit integers, doubles and texts hold as they are written.

Most files are such. A scan of the kernel finds the types, and makes sure of it for each value; then
Arrow's reader decodes the lines with these types, ten times as fast as `json_table`, which reads
all other files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import json as arrow_json

from anabranch._kernel import JsonLines
from anabranch.tables.formats import TableFormat
from anabranch.tables.readers.json_form import is_json_lines
from anabranch.tables.table import Note, UndividedTable, UnreadableTable, unreadable
from anabranch.tables.text.decompressed import DECOMPRESSION_ERRORS, decompressed
from anabranch.tables.text.encoding import Utf8Text

__all__ = ["ScannedLines", "scan_lines"]

_MAX_BLOCK_LINES = 50_000
"""Arrow's reader has 100,000 rows at most."""


def scan_lines(
    stream: BinaryIO, table_format: TableFormat, compression: str
) -> ScannedLines | None:
    """Returns the table of JSON lines, None for documents and for lines with values that need the
    other reader, which also says what is wrong with a damaged stream.
    """
    lines = JsonLines()
    try:
        if not is_json_lines(stream, table_format, compression):
            return None
        text = Utf8Text(decompressed(stream, compression))
        if not all(map(lines.add, text.blocks())):
            return None
    except (UnreadableTable, *DECOMPRESSION_ERRORS):
        return None
    if not lines.is_exact:
        return None
    return ScannedLines(stream, table_format.title, compression, lines, text.notes)


class ScannedLines(UndividedTable):
    """The table of scanned lines."""

    def __init__(
        self,
        stream: BinaryIO,
        title: str,
        compression: str,
        lines: JsonLines,
        notes: Sequence[Note],
    ) -> None:
        self._stream = stream
        self._title = title
        self._compression = compression
        self._rows = lines.rows
        self.schema = pa.schema(lines)
        self.notes = notes

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return self._rows

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        schema = self.schema
        if columns is not None:
            schema = pa.schema([schema.field(place) for place in columns])
        if not len(schema):
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * self._rows, pa.struct([])))
            return
        text = Utf8Text(decompressed(self._stream, self._compression))
        rows = 0
        try:
            for block in text.blocks():
                for lines in _pieces(block):
                    for batch in _decoded(lines, schema):
                        rows += batch.num_rows
                        yield batch
        except (pa.ArrowException, *DECOMPRESSION_ERRORS) as error:
            raise unreadable(self._title, error) from error
        if rows != self._rows:
            raise UnreadableTable(f"it has {rows:,} rows now, and {self._rows:,} before")


def _decoded(lines: bytes, schema: Any) -> list[Any]:
    """Returns the batches of some lines. Names beyond the schema are left out."""
    if not lines.strip():
        return []
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    table = arrow_json.read_json(pa.BufferReader(lines), read_options=read, parse_options=parse)
    return list(table.select(schema.names).to_batches())


def _pieces(block: bytes) -> Iterator[bytes]:
    """Yields whole lines, few enough for Arrow's reader."""
    if block.count(b"\n") < _MAX_BLOCK_LINES:
        yield block
        return
    middle = block.index(b"\n", len(block) // 2) + 1
    if middle == len(block):
        middle = block.rindex(b"\n", 0, len(block) // 2) + 1
    yield from _pieces(block[:middle])
    yield from _pieces(block[middle:])
