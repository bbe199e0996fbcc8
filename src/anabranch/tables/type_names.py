"""Names of Arrow types in messages: those of SQL where there is one, as previews show them."""

from __future__ import annotations

from typing import Any

__all__ = ["type_name"]

_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ms]": "TIMESTAMP_MS",
    "timestamp[ns]": "TIMESTAMP_NS",
}
_MAX_CHARS = 200


def type_name(kind: Any) -> str:
    """Returns the name of an Arrow type."""
    import pyarrow as pa  # noqa: PLC0415  an optional library

    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    name = str(kind)
    return _NAMES.get(name) or (name if len(name) <= _MAX_CHARS else f"{name[:_MAX_CHARS]}…")
