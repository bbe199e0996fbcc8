"""The columns of an Iceberg table: its schemas, defaults, and partition specs.

Source: the Iceberg table specification, "Schemas and Data Types", "Partitioning", and the appendix
"Single-value serialization".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from anabranch.tables.iceberg.avro_times import TimeValue
from anabranch.tables.live_rows.columns import (
    MAX_DEPTH,
    Column,
    ColumnType,
    ListType,
    MapType,
    Scalar,
    StructType,
    refused_column,
    sql_type,
)
from anabranch.tables.sql_names import identifier, literal

__all__ = ["all_columns", "identity_fields", "read_columns", "value_literal"]

_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ns": "TIMESTAMP_NS",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
    "unknown": "VARCHAR",
}
"""Types that are read exactly. Nanoseconds with a zone, `timestamptz_ns`, are not among them."""

_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
_FIXED = re.compile(r"fixed\[\d+\]")
_MAX_DIGITS = 38
_MISSING = object()


def read_columns(schema: Mapping[str, Any]) -> tuple[Column, ...]:
    """Returns the columns of a schema. Raises KeyError, TypeError or ValueError for a damaged
    one.
    """
    return _columns(schema["fields"], 0)


def all_columns(schemas: Iterable[Mapping[str, Any]]) -> dict[int, Column]:
    """Returns the top-level columns of schemas by their ids; later schemas count."""
    return {
        column.field_id: column
        for schema in schemas
        for column in read_columns(schema)
        if column.field_id is not None
    }


def identity_fields(spec: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yields the ids of the fields of a partition spec whose values are those of a column, with the
    ids of the columns.
    """
    for field in spec["fields"]:
        if field["transform"] == "identity":
            yield int(field["field-id"]), int(field["source-id"])


def _columns(fields: Iterable[Mapping[str, Any]], depth: int) -> tuple[Column, ...]:
    return tuple(_column(field, depth) for field in fields)


def _column(field: Mapping[str, Any], depth: int) -> Column:
    name, number = str(field["name"]), int(field["id"])
    column = _part(name, number, field["type"], depth)
    default = field.get("initial-default")
    return msgspec.structs.replace(
        column,
        required=field.get("required") is True,
        default="NULL" if default is None else _default(column.type, default),
    )


def _part(name: str, number: int, given: Any, depth: int) -> Column:
    found = _type(given, depth + 1)
    if found is None:
        return refused_column(name, name, str(given), number)
    return Column(name=name, stored_name=name, field_id=number, type=found)


def _type(given: Any, depth: int) -> ColumnType | None:
    """Returns a type, None if its values are not read."""
    if depth > MAX_DEPTH:
        raise ValueError("types are nested too deeply")
    if isinstance(given, str):
        return _scalar(given)
    kind = given["type"]
    if kind == "struct":
        return StructType(_columns(given["fields"], depth))
    if kind == "list":
        return ListType(_part("element", int(given["element-id"]), given["element"], depth))
    if kind == "map":
        return MapType(
            _part("key", int(given["key-id"]), given["key"], depth),
            _part("value", int(given["value-id"]), given["value"], depth),
        )
    return None


def _scalar(name: str) -> Scalar | None:
    if name in _TYPES:
        return Scalar(_TYPES[name], name)
    if _FIXED.fullmatch(name):
        return Scalar("BLOB", name)
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None and 0 < int(decimal[1]) <= _MAX_DIGITS:
        return Scalar(f"DECIMAL({decimal[1]}, {decimal[2]})", name)
    return None


def _default(column_type: ColumnType, value: Any) -> str:
    """Returns SQL for a default, which is a value of JSON."""
    if value is None:
        return "NULL"
    if isinstance(column_type, Scalar):
        if column_type.sql == "BLOB":
            return f"from_hex({literal(str(value))})"
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if column_type.sql == "DATE" or column_type.sql.startswith("TIMESTAMP"):
            text = text.removeprefix("+")  # of years after 9999
        return f"CAST({literal(text)} AS {column_type.sql})"
    if isinstance(column_type, StructType):
        given = {part: value.get(str(part.field_id), _MISSING) for part in column_type.columns}
        parts = [
            f"{identifier(part.name)} := CAST("
            f"{part.default if each is _MISSING else _default(part.type, each)} "
            f"AS {sql_type(part.type)})"
            for part, each in given.items()
        ]
        return f"struct_pack({', '.join(parts)})"
    if isinstance(column_type, ListType):
        return f"[{', '.join(_default(column_type.element.type, each) for each in value)}]"
    keys = ", ".join(_default(column_type.key.type, each) for each in value["keys"])
    values = ", ".join(_default(column_type.value.type, each) for each in value["values"])
    return f"map([{keys}], [{values}])"


def value_literal(column: Column, value: Any) -> str:
    """Returns SQL for a value of a partition."""
    if value is None:
        return "NULL"
    sql = column.type.sql if isinstance(column.type, Scalar) else "VARCHAR"
    if isinstance(value, bytes | bytearray):
        hexadecimal = literal(bytes(value).hex())
        return f"CAST({hexadecimal} AS UUID)" if sql == "UUID" else f"from_hex({hexadecimal})"
    if isinstance(value, TimeValue):
        text = value.plain_text() + ("+00" if sql == "TIMESTAMP WITH TIME ZONE" else "")
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"CAST({literal(text)} AS {sql})"
