"""The declaration of Arrow schemas for Spark."""

from __future__ import annotations

import pyarrow as pa

from anabranch.errors import NotSupported

__all__ = ["declaration"]

_NAMES = {
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
}


def declaration(schema: pa.Schema) -> str:
    """Returns a schema in Spark's language for data definitions. Raises NotSupported for a type
    that no job has.
    """
    return ", ".join(f"{field.name} {_type_name(field.type)}" for field in schema)


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{field.name}: {_type_name(field.type)}" for field in kind)
        return f"STRUCT<{fields}>"
    if pa.types.is_map(kind):
        return f"MAP<{_type_name(kind.key_type)}, {_type_name(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{_type_name(kind.value_type)}>"
    if kind not in _NAMES:
        raise NotSupported(
            f"a column of the type {kind} cannot be declared to Spark",
            hint=f"Types that can be: {', '.join(map(str, _NAMES))}, and lists, maps and structs.",
        )
    return _NAMES[kind]
