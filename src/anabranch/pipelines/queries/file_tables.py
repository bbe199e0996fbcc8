"""Relations of files that `tables` reads: Arrow, ORC, Avro, JSON and text, and Parquet with types
that DuckDB's own reader does not hold.

Columns of several files are joined by their names. Folders such as `day=1/` are columns unless the
files have columns of these names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from anabranch.pipelines.queries.functions.conditions import Condition
from anabranch.pipelines.queries.functions.relations import Relation
from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem
from anabranch.tables.json_values import text_column
from anabranch.tables.open_table import open_typed_table
from anabranch.tables.sql_columns import sql_array, sql_column, unique_names
from anabranch.tables.sql_names import folded
from anabranch.tables.table import Table, UnreadableTable
from anabranch.tables.type_names import type_name
from anabranch.tables.widening import convert, widest

__all__ = ["FileTables", "folder_columns"]

_MAX_OPEN = 64
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


class FileTables:
    """The rows of files of one format, as one relation."""

    def __init__(
        self, objects: ObjectFilesystem, addresses: Sequence[str], format_name: str
    ) -> None:
        self._objects = objects
        self._addresses = list(addresses)
        self._format = format_name
        self._opened: dict[str, Table] = {}
        self._columns: dict[str, Any] = {}
        self._as_text: set[str] = set()
        self.failure: UnreadableTable | None = None
        self._notes: dict[str, None] = {}
        for address in self._addresses:
            self._add(address)
        folders = folder_columns(self._addresses)
        own = set(map(folded, self._columns))
        self._folders = {name: kind for name, kind in folders.items() if folded(name) not in own}
        self.schema = pa.schema([*self._columns.items(), *self._folders.items()])

    @property
    def relation(self) -> Relation:
        """The rows as DuckDB scans them. After an error of DuckDB, `failure` is its reason."""
        return Relation(self.schema, self._read)

    def notes(self) -> list[str]:
        """Returns what of the files is shown otherwise, or was repaired."""
        found = dict(self._notes)
        for address, table in self._opened.items():
            for note in table.notes:
                if not note.is_usual:
                    found[self._of(address, note.text)] = None
        return list(found)

    def _add(self, address: str) -> None:
        schema = self._open(address).schema
        for name, field in zip(unique_names(schema.names), schema, strict=True):
            column = sql_column(field.type)
            if column.note:
                self._notes[f"Column {name} is {column.note}."] = None
            known = self._columns.get(name)
            kind = column.type if known is None else widest(known, column.type)
            # a wider decimal may have more digits than DuckDB
            if kind is None or sql_column(kind).type != kind:
                kind = pa.string()
                self._as_text.add(name)
                self._notes[
                    f"Column {name} is text, as it is {type_name(known)} in some files and "
                    f"{type_name(column.type)} in others."
                ] = None
            self._columns[name] = pa.string() if name in self._as_text else kind

    def _open(self, address: str) -> Table:
        table = self._opened.get(address)
        if table is None:
            try:
                stream: Any = self._objects.open(address)
                table = open_typed_table(stream, address, self._format)
            except UnreadableTable as error:
                raise _add_location(address, error) from error
            if len(self._opened) >= _MAX_OPEN:
                self._close(next(iter(self._opened)))
            self._opened[address] = table
        return table

    def _close(self, address: str) -> None:
        table = self._opened.pop(address)
        for note in table.notes:
            if not note.is_usual:
                self._notes[self._of(address, note.text)] = None

    def _of(self, address: str, text: str) -> str:
        return text if len(self._addresses) == 1 else f"{_path(address)}: {text}"

    def _read(self, names: Sequence[str], _: Sequence[Condition]) -> Iterator[Any]:
        schema = pa.schema([self.schema.field(name) for name in names])
        try:
            for address in self._addresses:
                yield from self._read_file(address, schema)
        except UnreadableTable as error:
            self.failure = error
            raise

    def _read_file(self, address: str, schema: Any) -> Iterator[Any]:
        table = self._open(address)
        places = {name: at for at, name in enumerate(unique_names(table.schema.names))}
        own = [field.name for field in schema if field.name in places]
        folders = _folders_of(address)
        try:
            for batch in table.batches([places[name] for name in own]):
                if not len(schema):
                    yield batch
                    continue
                read = dict(zip(own, batch.columns, strict=True))
                arrays = [
                    self._column(read.get(field.name), field, folders, batch.num_rows)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except UnreadableTable as error:
            raise _add_location(address, error) from error

    def _column(self, array: Any, field: Any, folders: dict[str, str], rows: int) -> Any:
        if array is None:
            text = folders.get(field.name, _HIVE_NULL) if field.name in self._folders else None
            is_null = text is None or text == _HIVE_NULL
            value = pa.scalar(None if is_null else text, pa.string()).cast(field.type)
            return pa.repeat(value, rows)
        try:
            held = sql_array(array)
            if held.type == field.type:
                return held
            if field.name in self._as_text:
                return pa.array(text_column(array), pa.string())
            return convert(held, field.type)
        except (pa.ArrowException, UnreadableTable) as error:
            reason = str(error).splitlines()[0]
            raise UnreadableTable(f"column {field.name} cannot be read in SQL: {reason}") from error


def folder_columns(addresses: Sequence[str]) -> dict[str, Any]:
    """Returns the columns that are folders of all addresses, such as `day=1/`: names and types."""
    each = [_folders_of(address) for address in addresses]
    shared = [name for name in each[0] if all(name in folders for folders in each)]
    return {name: _folder_type([folders[name] for folders in each]) for name in shared}


def _folders_of(address: str) -> dict[str, str]:
    parts = (part.partition("=") for part in address.split("/")[3:-1] if "=" in part)
    return {unquote(name): unquote(value) for name, _, value in parts if name}


def _folder_type(texts: Sequence[str]) -> Any:
    values = [text for text in texts if text != _HIVE_NULL]
    if values and all(map(_is_integer, values)):
        return pa.int64()
    return pa.date32() if values and all(map(_is_date, values)) else pa.string()


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < len(str(2**63))
    return is_number and str(int(text)) == text


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _path(address: str) -> str:
    return "/".join(address.split("/")[4:])


def _add_location(address: str, error: UnreadableTable) -> UnreadableTable:
    if error.message.startswith(f"{_path(address)}: "):
        return error
    return UnreadableTable(f"{_path(address)}: {error.message}", kind=error.kind, hint=error.hint)
