"""The columns of DataFrames, as Arrow schemas."""

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
    "select_columns",
]

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
