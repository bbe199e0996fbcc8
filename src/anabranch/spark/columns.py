"""Columns: what DataFrames of commits have, in Spark's words and in Arrow's."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["CHANGES", "CHANGES_ARROW", "ENTRY_ARROW", "OBJECTS", "OBJECTS_ARROW"]

_ENTRY = {
    "physical_address": ("STRING", pa.string()),
    "last_modified": ("TIMESTAMP", pa.timestamp("us", "UTC")),
    "size": ("BIGINT", pa.int64()),
    "checksum": ("STRING", pa.string()),
    "metadata": ("MAP<STRING, STRING>", pa.map_(pa.string(), pa.string())),
    "content_type": ("STRING", pa.string()),
}
_STRUCT = f"STRUCT<{', '.join(f'{name}: {kind}' for name, (kind, _) in _ENTRY.items())}>"

OBJECTS = ", ".join(["path STRING", *(f"{name} {kind}" for name, (kind, _) in _ENTRY.items())])
"""The schema of objects, for Spark."""

CHANGES = f"change STRING, path STRING, left {_STRUCT}, right {_STRUCT}"
"""The schema of changes, for Spark."""

ENTRY_ARROW = pa.struct([(name, kind) for name, (_, kind) in _ENTRY.items()])
OBJECTS_ARROW = pa.schema([("path", pa.string()), *ENTRY_ARROW])
CHANGES_ARROW = pa.schema(
    [("change", pa.string()), ("path", pa.string()), ("left", ENTRY_ARROW), ("right", ENTRY_ARROW)]
)
