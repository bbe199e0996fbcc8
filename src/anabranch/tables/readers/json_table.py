"""Tables in JSON: an object in each line, or one document: an array of objects, or an object.

The columns are the keys of all objects, so the schema is known after all have been read once. This
reader takes all that is JSON, value by value; `json_lines` reads most files, and faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from anabranch.tables.readers.doubled_names import doubled_name, doubled_note
from anabranch.tables.readers.json_text import JsonText
from anabranch.tables.readers.json_types import MAX_COLUMNS, JsonType, decode_number
from anabranch.tables.table import Note, UndividedTable, batch_rows, unreadable
from anabranch.tables.text.decompressed import DECOMPRESSION_ERRORS

__all__ = ["JsonTable"]

_VALUE = "json"
"""The column of values that are no objects."""

_DECODE = msgspec.json.Decoder(float_hook=decode_number).decode
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_ERRORS = (msgspec.DecodeError, RecursionError, *DECOMPRESSION_ERRORS)


class JsonTable(UndividedTable):
    """A table in JSON."""

    def __init__(self, text: JsonText) -> None:
        self._text = text
        self._title = text.title
        self._encoding: Sequence[Note] = []
        self._document: list[Any] | None = None
        self._count = 0
        self._doubled = ""
        self._doubled_rows = 0
        try:
            if text.document is not None:
                self._document = self._decode(text.document)
            kind = JsonType()
            is_table = True
            for value in self._values(looks_for_doubled=True):
                self._count += 1
                is_table = is_table and isinstance(value, dict)
                if is_table:
                    kind.add(value)
        except _ERRORS as error:
            raise unreadable(self._title, error) from error
        self._has_too_many = len(kind.fields) > MAX_COLUMNS
        is_table = is_table and not self._has_too_many
        self._is_table = is_table and (bool(kind.fields) or not self._count)
        columns = {name: each.column() for name, each in kind.fields.items()}
        if not self._is_table:
            columns = {_VALUE: (pa.string(), lambda value: _ENCODE(value).decode())}
        self._columns = [(name, *each) for name, each in columns.items()]
        self.schema = pa.schema([(name, each) for name, each, _ in self._columns])

    @property
    def notes(self) -> Sequence[Note]:
        """The encoding, whether objects have a name twice, and whether values are no objects."""
        notes = list(self._encoding)
        if self._doubled_rows:
            is_document = self._document is not None
            note = doubled_note(self._doubled, self._doubled_rows, is_document=is_document)
            notes.append(note)
        if self._has_too_many:
            text = f"Its objects have more than {MAX_COLUMNS:,} names: each is shown as JSON."
            notes.append(Note(text))
        elif not self._is_table:
            notes.append(Note("It has values that are no objects: each is shown as JSON."))
        return notes

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return self._count

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        chosen = self._columns if columns is None else [self._columns[place] for place in columns]
        schema = pa.schema([(name, kind) for name, kind, _ in chosen])
        size = batch_rows(len(self._columns))
        values: list[Any] = []
        try:
            for value in self._values():
                values.append(value)
                if len(values) == size:
                    yield self._batch(values, chosen, schema)
                    values = []
            if values:
                yield self._batch(values, chosen, schema)
        except (*_ERRORS, pa.ArrowException, OverflowError) as error:
            raise unreadable(self._title, error) from error

    def _batch(self, values: list[Any], chosen: Sequence[Any], schema: Any) -> Any:
        if not chosen:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(values), pa.struct([])))
        arrays = []
        for name, kind, convert in chosen:
            cells = [value.get(name) for value in values] if self._is_table else values
            if convert is not None and self._is_table:
                cells = [None if cell is None else convert(cell) for cell in cells]
            elif convert is not None:
                cells = list(map(convert, cells))
            arrays.append(pa.array(cells, kind))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _values(self, *, looks_for_doubled: bool = False) -> Iterator[Any]:
        if self._document is not None:
            yield from self._document
            return
        for block in self._text.blocks():
            for line in block.split(b"\n"):
                if line and not line.isspace():
                    value = _DECODE(line)
                    if looks_for_doubled:
                        self._look(line, value)
                    yield value
        self._encoding = self._text.notes

    def _decode(self, document: bytes) -> list[Any]:
        self._encoding = self._text.notes
        if not document.strip():
            return []
        value = _DECODE(document)
        self._look(document, value)
        return value if isinstance(value, list) else [value]

    def _look(self, content: bytes, value: Any) -> None:
        """Counts what has an object with a name twice."""
        name = doubled_name(content, value)
        if name is not None:
            self._doubled = self._doubled or name
            self._doubled_rows += 1
