"""JSON lines whose columns are mostly of values that a fast reader decodes as they are written.

A scan of the kernel finds the types of all columns, and makes sure for each value that 64-bit
integers, doubles and texts hold it as it is written. Arrow's reader then decodes these columns. The
values of the others are handed over by the kernel and decoded one by one, ten times as slowly:
`json_types` finds types that hold them. `json_table` reads what are no lines of objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import json as arrow_json

from anabranch._kernel import JsonLines, json_document_lines
from anabranch.tables.readers.doubled_names import doubled_note, first_doubled_name
from anabranch.tables.readers.json_text import JsonText
from anabranch.tables.readers.json_types import Convert, JsonType, decode_number
from anabranch.tables.table import Note, UndividedTable, UnreadableTable, batch_rows, unreadable
from anabranch.tables.text.decompressed import DECOMPRESSION_ERRORS

__all__ = ["ScannedLines", "scan_lines"]

_MAX_BLOCK_LINES = 50_000
"""Arrow's reader has 100,000 rows at most."""

_DECODE = msgspec.json.Decoder(list[Any], float_hook=decode_number).decode
_ERRORS = (msgspec.DecodeError, OverflowError, pa.ArrowException, *DECOMPRESSION_ERRORS)
_COLUMN_DEPTH = 1


def scan_lines(text: JsonText) -> ScannedLines | None:
    """Returns the table of a text, None if it has other values than objects, or objects with so
    many names or levels that they are shown as JSON. Raises UnreadableTable for a damaged stream.
    """
    document = None
    if text.document is not None:
        document = json_document_lines(text.document)
        if document is None:
            return None
    lines = JsonLines()
    try:
        if not all(map(lines.add, _blocks(text, document))):
            return None
        schema = pa.schema(lines)
        if lines.rows and not len(schema):
            return None
        return ScannedLines(text, document, lines, schema)
    except _ERRORS as error:
        raise unreadable(text.title, error) from error


def _blocks(text: JsonText, document: bytes | None) -> Iterator[bytes]:
    return text.blocks() if document is None else iter([document])


class ScannedLines(UndividedTable):
    """The table of scanned lines: those of a text, or of the objects of a document."""

    def __init__(
        self, text: JsonText, document: bytes | None, lines: JsonLines, schema: Any
    ) -> None:
        self._text = text
        self._document = document
        self._lines = lines
        self.notes = _notes(text.notes, lines, is_document=document is not None)
        at_risk = [place for place, kind in enumerate(schema.types) if pa.types.is_null(kind)]
        self._converted = self._exact_columns(at_risk)
        for place, (kind, _) in self._converted.items():
            schema = schema.set(place, pa.field(schema.names[place], kind))
        self.schema = schema

    def _exact_columns(self, places: list[int]) -> dict[int, tuple[Any, Convert | None]]:
        """Returns the types of columns whose values are decoded one by one."""
        if not places:
            return {}
        kinds = {place: JsonType(_COLUMN_DEPTH) for place in places}
        for block in _blocks(self._text, self._document):
            values = self._lines.values(block, places)
            for kind, written in zip(kinds.values(), values, strict=True):
                for value in _DECODE(written):
                    kind.add(value)
        return {place: kind.column() for place, kind in kinds.items()}

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return self._lines.rows

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        chosen = range(len(self.schema)) if columns is None else columns
        if not chosen:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * self._lines.rows, pa.struct([])))
            return
        most = min(_MAX_BLOCK_LINES, batch_rows(len(chosen)))
        rows = 0
        try:
            for block in _blocks(self._text, self._document):
                for lines in _pieces(block, most):
                    for batch in self._decode(lines, chosen):
                        rows += batch.num_rows
                        yield batch
        except _ERRORS as error:
            raise unreadable(self._text.title, error) from error
        if rows != self._lines.rows:
            raise UnreadableTable(f"it has {rows:,} rows now, and {self._lines.rows:,} before")

    def _decode(self, lines: bytes, chosen: Sequence[int]) -> list[Any]:
        """Returns the batches of some lines."""
        if not lines.strip():
            return []
        fields = [self.schema.field(place) for place in chosen]
        exact = [place for place in chosen if place in self._converted]
        sure = [field for place, field in zip(chosen, fields, strict=True) if place not in exact]
        table = _read(lines, pa.schema(sure)) if sure else None
        if not exact and table is not None:
            return list(table.to_batches())
        values = dict(zip(exact, self._lines.values(lines, exact), strict=True))
        arrays = [
            _array(values[place], *self._converted[place])
            if table is None or place in values
            else _combine(table.column(field.name))
            for place, field in zip(chosen, fields, strict=True)
        ]
        return [pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))]


def _notes(encoding: Sequence[Note], lines: JsonLines, *, is_document: bool) -> Sequence[Note]:
    name = None if lines.first_doubled is None else first_doubled_name(lines.first_doubled)
    if name is None:
        return encoding
    return [*encoding, doubled_note(name, lines.doubled_rows, is_document=is_document)]


def _read(lines: bytes, schema: Any) -> Any:
    """Returns columns of some lines. Names beyond the schema are left out."""
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    table = arrow_json.read_json(pa.BufferReader(lines), read_options=read, parse_options=parse)
    return table.select(schema.names)


def _array(written: bytes, kind: Any, convert: Convert | None) -> Any:
    values = _DECODE(written)
    if convert is not None:
        values = [None if value is None else convert(value) for value in values]
    return pa.array(values, kind)


def _combine(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _pieces(block: bytes, most: int) -> Iterator[bytes]:
    """Yields whole lines, fewer than `most`, if the block has several."""
    if block.count(b"\n") < most:
        yield block
        return
    middle = block.index(b"\n", len(block) // 2) + 1
    if middle == len(block):
        middle = block.rindex(b"\n", 0, len(block) // 2) + 1
    yield from _pieces(block[:middle], most)
    yield from _pieces(block[middle:], most)
