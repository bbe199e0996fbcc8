"""SQL that makes the columns of a table from the fields of one of its files.

A file keeps the names and types of the time when it was written. Fields are matched by their ids,
or by their stored names in tables without ids; they are renamed, widened, left out, or replaced by
a default, also within structs, lists and maps.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from anabranch.tables.live_rows.columns import (
    Column,
    ListType,
    MapType,
    Scalar,
    StructType,
    sql_type,
)
from anabranch.tables.live_rows.file_fields import FileField
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.sql_names import identifier, literal

__all__ = ["SOURCE", "Projection"]

SOURCE = "live"
"""The name of the relation of a file's rows."""

_TEXT, _BYTES = "VARCHAR", "BLOB"
_BINARY_KINDS = frozenset(("binary", "large_binary", "binary_view", "fixed_size_binary"))
_INTEGER_KINDS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_DECIMALS = frozenset(("decimal32", "decimal64", "decimal128"))
_FLOATS = frozenset(("halffloat", "float", "double"))
_TEXTS = frozenset(("string", "large_string", "string_view"))
_READABLE: Mapping[str, frozenset[str]] = {
    "BOOLEAN": frozenset(("bool",)),
    "TINYINT": _INTEGER_KINDS,
    "SMALLINT": _INTEGER_KINDS,
    "INTEGER": _INTEGER_KINDS,
    "BIGINT": _INTEGER_KINDS,
    "FLOAT": _FLOATS,
    "DOUBLE": _FLOATS | _INTEGER_KINDS,
    "DATE": frozenset(("date32",)),
    "TIME": frozenset(("time64", "time32")),
    "TIMESTAMP": frozenset(("timestamp", "date32")),
    "TIMESTAMP_NS": frozenset(("timestamp", "date32")),
    "TIMESTAMP WITH TIME ZONE": frozenset(("timestamp", "date32")),
    _TEXT: _TEXTS | _BINARY_KINDS | {"json"},
    _BYTES: _BINARY_KINDS | _TEXTS,
    "UUID": frozenset(("uuid", "fixed_size_binary")),
}
"""The Arrow types of files from which a column of a type is read; decimals are read from numbers
without fractions, too.
"""


class Projection:
    """How columns are read from files. `by_id` if fields are matched by ids."""

    def __init__(self, columns: Sequence[Column], *, by_id: bool) -> None:
        self.columns = columns
        self._by_id = by_id
        self._variables = itertools.count()

    def select(
        self,
        fields: Sequence[FileField],
        constants: Mapping[str, str],
        fallbacks: Mapping[str, str],
    ) -> str:
        """Returns the list of a SELECT of all columns. `constants` are SQL for columns that are
        the same in all rows of the file, `fallbacks` for those only if the file lacks the field.
        """
        self._variables = itertools.count()
        parts = []
        for column in self.columns:
            if column.name in constants:
                value = self._cast(constants[column.name], column)
            else:
                field = self.find(column, fields, self.columns)
                default = fallbacks.get(column.name) if field is None else None
                value = self.value(column, field, default)
            parts.append(f"{value} AS {identifier(column.name)}")
        return ", ".join(parts)

    def value(self, column: Column, field: FileField | None, default: str | None = None) -> str:
        """Returns SQL for a top-level column, given its field in the file."""
        if column.refusal:
            return self._cast(_refusal(column), column)
        if field is None:
            return self._cast(default or column.default, column)
        source = f"{SOURCE}.{identifier(field.name)}"
        return self._cast(self._read(column, field, source, column.name), column)

    def find(
        self, column: Column, fields: Sequence[FileField], columns: Sequence[Column] = ()
    ) -> FileField | None:
        """Returns the field of a column, one of some `columns`. Without ids, names that differ in
        case are the same unless one is exact, as Spark reads them, or is that of another column.
        """
        if self._by_id:
            return next((each for each in fields if each.field_id == column.field_id), None)
        exact = next((each for each in fields if each.name == column.stored_name), None)
        if exact is not None:
            return exact
        lower, others = column.stored_name.lower(), {each.stored_name for each in columns}
        alike = [each for each in fields if each.name.lower() == lower and each.name not in others]
        if len(alike) > 1:
            raise unreadable(f"a file has several fields for the column {column.name!r}")
        return alike[0] if alike else None

    def _cast(self, value: str, column: Column) -> str:
        return f"CAST({value} AS {sql_type(column.type)})"

    def _read(self, column: Column, field: FileField, value: str, path: str) -> str:
        """Returns SQL for the value of a column, from SQL for that of its field."""
        wanted = column.type
        if column.refusal:
            return _refusal(column)
        if isinstance(wanted, Scalar):
            return _scalar(wanted, field, value, path)
        if isinstance(wanted, StructType) and field.kind == "struct":
            return self._struct(wanted, field, value, path)
        if isinstance(wanted, ListType) and field.kind == "list":
            return self._list(wanted, field, value, path)
        if isinstance(wanted, MapType) and field.kind == "map":
            return self._map(wanted, field, value, path)
        raise _mismatch(path, sql_type(wanted), field)

    def _list(self, wanted: ListType, field: FileField, value: str, path: str) -> str:
        item = self._variable()
        inner = self._read(wanted.element, field.parts[0], item, f"{path}.element")
        if inner == item:
            return value
        inner = self._cast(inner, wanted.element)
        return f"list_transform({value}, lambda {item}: {inner})"

    def _map(self, wanted: MapType, field: FileField, value: str, path: str) -> str:
        item = self._variable()
        sources = f"{item}.key", f"{item}.value"
        columns = wanted.key, wanted.value
        read = [
            self._read(column, part, source, f"{path}.{column.name}")
            for column, part, source in zip(columns, field.parts, sources, strict=True)
        ]
        if read == list(sources):
            return value
        key, inner = map(self._cast, read, columns)
        pair = f"struct_pack(k := {key}, v := {inner})"
        return f"map_from_entries(list_transform(map_entries({value}), lambda {item}: {pair}))"

    def _struct(self, wanted: StructType, field: FileField, value: str, path: str) -> str:
        parts = []
        is_same = len(wanted.columns) == len(field.parts)
        for column, position in zip(wanted.columns, itertools.count()):
            part = self.find(column, field.parts, wanted.columns)
            inner = column.default
            if part is not None:
                source = f"struct_extract({value}, {literal(part.name)})"
                inner = self._read(column, part, source, f"{path}.{column.name}")
                is_same = is_same and inner == source and part is field.parts[position]
                is_same = is_same and part.name == column.name
            else:
                is_same = False
            parts.append(f"{identifier(column.name)} := {self._cast(inner, column)}")
        if is_same:
            return value
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({', '.join(parts)}) END"

    def _variable(self) -> str:
        return f"item_{next(self._variables)}"


def _refusal(column: Column) -> str:
    return f"error({literal(column.refusal)})"


def _scalar(wanted: Scalar, field: FileField, value: str, path: str) -> str:
    """Returns SQL that reads a value without a part, exactly."""
    sql, kind = wanted.sql, field.kind
    if sql.startswith("DECIMAL"):
        readable = kind in _DECIMALS or kind in _INTEGER_KINDS
    else:
        readable = kind in _READABLE.get(sql, ())
    if not readable:
        raise _mismatch(path, sql, field)
    if sql == _TEXT and kind in _BINARY_KINDS:
        return f"decode({value})"
    if sql == _BYTES and kind in _TEXTS:
        return f"encode({value})"
    if sql == "UUID" and kind == "fixed_size_binary":
        return f"hex({value})"
    if kind == "timestamp" or (kind == "date32" and sql.startswith("TIMESTAMP")):
        has_zone = "tz=" in field.type_name
        wants_zone = sql == "TIMESTAMP WITH TIME ZONE"
        if has_zone and sql == "TIMESTAMP_NS":
            raise _mismatch(path, sql, field)
        if has_zone != wants_zone:
            plain = value if has_zone else f"CAST({value} AS TIMESTAMP)"
            return f"({plain} AT TIME ZONE 'UTC')"
    return value


def _mismatch(path: str, wanted: str, field: FileField) -> Exception:
    return unreadable(
        f"the column {path!r} has the type {wanted}, and a file of the table has "
        f"{field.type_name} for it"
    )
