"""The columns of DataFrames, as Arrow schemas, and their declaration for Spark."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from anabranch.errors import Invalid
from anabranch.pipelines.metadata_columns import CHANGES, COMMITS, ENTRY, OBJECTS

__all__ = [
    "CHANGES",
    "COMMITS",
    "ENTRY",
    "OBJECTS",
    "POINTERS",
    "RANGES",
    "STEPS",
    "declaration",
    "select_columns",
]

_TIMESTAMP = pa.timestamp("us", "UTC")
STEPS = pa.schema([("commit", pa.string()), *CHANGES])
"""Steps are the changes of single commits."""

POINTERS = pa.schema([("id", pa.string()), ("commit_id", pa.string())])
"""Branches or tags."""

RANGES = pa.schema(
    [
        ("id", pa.string()),
        ("min_path", pa.string()),
        ("max_path", pa.string()),
        ("objects", pa.int64()),
        ("estimated_size", pa.int64()),
    ]
)


def declaration(schema: pa.Schema) -> str:
    """Returns a schema in Spark's language for data definitions."""
    return ", ".join(f"{field.name} {_type_name(field.type)}" for field in schema)


def select_columns(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Returns the columns with these names, in their order; all if there are no names. Raises
    Invalid for an unknown or repeated name.
    """
    selected = list(names)
    if unknown := [name for name in selected if name not in schema.names]:
        raise Invalid(
            f"{', '.join(unknown)}: unknown column",
            hint=f"The columns are {', '.join(schema.names)}.",
        )
    if len(set(selected)) < len(selected):
        raise Invalid(f"{', '.join(selected)}: a column is repeated")
    return pa.schema([schema.field(name) for name in selected or schema.names])


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{field.name}: {_type_name(field.type)}" for field in kind)
        return f"STRUCT<{fields}>"
    if pa.types.is_map(kind):
        return f"MAP<{_type_name(kind.key_type)}, {_type_name(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{_type_name(kind.value_type)}>"
    return {pa.string(): "STRING", pa.int64(): "BIGINT", _TIMESTAMP: "TIMESTAMP"}[kind]
