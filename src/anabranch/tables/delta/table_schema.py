"""The columns of a Delta table: its schema, with the mapping of columns to files.

Source: the Delta transaction log protocol, sections "Schema Serialization Format", "Column
Mapping" and "Partition Value Serialization".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from anabranch.tables.live_rows.columns import (
    MAX_DEPTH,
    Column,
    ColumnType,
    ListType,
    MapType,
    Scalar,
    StructType,
    refused_column,
)
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.sql_names import literal

__all__ = ["MAPPING_MODE", "partition_value", "read_columns"]

MAPPING_MODE = "delta.columnMapping.mode"
_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_FIELD_ID = "delta.columnMapping.id"

_TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "void": "VARCHAR",
}
_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
_CHARS = re.compile(r"(?:var)?char\(\d+\)")
_MAX_DIGITS = 38
_ZONE = re.compile(r":.*(?:Z|[+-]\d{2}(?::?\d{2})?)$")


def read_columns(schema: str, mode: str) -> tuple[Column, ...]:
    """Returns the columns of a schema, which is JSON. `mode` is the mode of column mapping: `name`
    or `id`, else columns have their own names in files. Raises Invalid for a damaged schema.
    """
    try:
        found = json.loads(schema)
        return _columns(found, mode.lower(), 0)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise unreadable(f"the table's schema cannot be read: {error!r}") from error


def _columns(struct: Mapping[str, Any], mode: str, depth: int) -> tuple[Column, ...]:
    return tuple(_column(field, mode, depth) for field in struct["fields"])


def _column(field: Mapping[str, Any], mode: str, depth: int) -> Column:
    name = str(field["name"])
    about = field.get("metadata") or {}
    is_mapped = mode in ("name", "id")
    stored = str(about[_PHYSICAL_NAME]) if is_mapped else name
    number = int(about[_FIELD_ID]) if mode == "id" else None
    found = _type(field["type"], mode, depth)
    if found is None:
        return refused_column(name, stored, str(field["type"]), number)
    return Column(
        name=name,
        stored_name=stored,
        type=found,
        field_id=number,
        required=field.get("nullable") is False,
    )


def _type(given: Any, mode: str, depth: int) -> ColumnType | None:
    """Returns a type, None if its values are not read."""
    if depth > MAX_DEPTH:
        raise ValueError("types are nested too deeply")
    if isinstance(given, str):
        return _scalar(given)
    kind = given["type"]
    if kind == "struct":
        return StructType(_columns(given, mode, depth + 1))
    if kind == "array":
        return ListType(_part("element", given["elementType"], mode, depth))
    if kind == "map":
        return MapType(
            _part("key", given["keyType"], mode, depth),
            _part("value", given["valueType"], mode, depth),
        )
    return None


def _part(name: str, given: Any, mode: str, depth: int) -> Column:
    found = _type(given, mode, depth + 1)
    if found is None:
        return refused_column(name, name, str(given), None)
    return Column(name=name, stored_name=name, type=found)


def _scalar(name: str) -> Scalar | None:
    if name in _TYPES:
        return Scalar(_TYPES[name], name)
    if _CHARS.fullmatch(name):
        return Scalar("VARCHAR", name)
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None or name == "decimal":
        digits, scale = (int(decimal[1]), int(decimal[2])) if decimal else (10, 0)
        if 0 < digits <= _MAX_DIGITS and scale <= digits:
            return Scalar(f"DECIMAL({digits}, {scale})", name)
    return None


def partition_value(column: Column, text: str | None) -> str:
    """Returns SQL for the value of a partition column, which is a text in the log."""
    if not text:
        return "NULL"
    sql = column.type.sql if isinstance(column.type, Scalar) else ""
    if sql == "BLOB":
        return f"encode({literal(text)})"
    if sql == "DATE" or sql.startswith("TIMESTAMP"):
        text = text.removeprefix("+")  # of years after 9999
    if sql == "TIMESTAMP WITH TIME ZONE" and not _ZONE.search(text):
        text += "+00"  # times without a zone are in UTC
    return f"CAST({literal(text)} AS {sql})"
