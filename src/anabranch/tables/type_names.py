"""Names of Arrow types: those of SQL where there is one, as previews and messages show them."""

from __future__ import annotations

from typing import Any

__all__ = ["type_name"]

_NAMES = {
    "null": "NULL",
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT16",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "string_view": "VARCHAR",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "binary_view": "BLOB",
    "date32[day]": "DATE",
    "date64[ms]": "DATE",
    "time32[s]": "TIME",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "time64[ns]": "TIME_NS",
    "timestamp[s]": "TIMESTAMP_S",
    "timestamp[ms]": "TIMESTAMP_MS",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
    "duration[s]": "INTERVAL",
    "duration[ms]": "INTERVAL",
    "duration[us]": "INTERVAL",
    "duration[ns]": "INTERVAL",
    "month_day_nano_interval": "INTERVAL",
    "extension<arrow.uuid>": "UUID",
    "extension<arrow.bool8>": "BOOLEAN",
}
_MAX_CHARS = 200


def type_name(kind: Any) -> str:
    """Returns the name of an Arrow type, shortened if it is long."""
    name = _NAMES.get(str(kind)) or _composed_name(kind)
    return name if len(name) <= _MAX_CHARS else f"{name[:_MAX_CHARS]}…"


def _composed_name(kind: Any) -> str:
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        return type_name(kind.storage_type)
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return type_name(kind.value_type)
    if kinds.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if kinds.is_nested(kind):
        return _nested_name(kind)
    if kinds.is_fixed_size_binary(kind):
        return "BLOB"
    return "TIMESTAMP WITH TIME ZONE" if kinds.is_timestamp(kind) else str(kind)


def _nested_name(kind: Any) -> str:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_map(kind):
        return f"MAP({type_name(kind.key_type)}, {type_name(kind.item_type)})"
    if kinds.is_struct(kind) or kinds.is_union(kind):
        word = "STRUCT" if kinds.is_struct(kind) else "UNION"
        parts = (f"{field.name} {type_name(field.type)}" for field in kind)
        return f"{word}({', '.join(parts)})"
    return f"{type_name(kind.value_type)}[]"
