"""The schemas of DataFrames, for Spark and for Arrow."""

from __future__ import annotations

import pyarrow as pa

__all__ = [
    "CHANGES",
    "CHANGES_ARROW",
    "COMMITS",
    "COMMITS_ARROW",
    "ENTRY_ARROW",
    "OBJECTS",
    "OBJECTS_ARROW",
    "POINTERS",
    "POINTERS_ARROW",
    "RANGES",
    "RANGES_ARROW",
    "STEPS",
    "STEPS_ARROW",
]

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

STEPS = f"commit STRING, {CHANGES}"
"""The schema of steps, the changes of single commits, for Spark."""

STEPS_ARROW = pa.schema([("commit", pa.string()), *CHANGES_ARROW])

COMMITS = (
    "id STRING, message STRING, committer STRING, creation_date TIMESTAMP, parents ARRAY<STRING>,"
    " metadata MAP<STRING, STRING>, metarange_id STRING, generation BIGINT"
)
COMMITS_ARROW = pa.schema(
    [
        ("id", pa.string()),
        ("message", pa.string()),
        ("committer", pa.string()),
        ("creation_date", pa.timestamp("us", "UTC")),
        ("parents", pa.list_(pa.string())),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("metarange_id", pa.string()),
        ("generation", pa.int64()),
    ]
)

POINTERS = "id STRING, commit_id STRING"
"""The schema of branches and tags, for Spark."""

POINTERS_ARROW = pa.schema([("id", pa.string()), ("commit_id", pa.string())])

RANGES = "id STRING, min_path STRING, max_path STRING, objects BIGINT, estimated_size BIGINT"
RANGES_ARROW = pa.schema(
    [
        ("id", pa.string()),
        ("min_path", pa.string()),
        ("max_path", pa.string()),
        ("objects", pa.int64()),
        ("estimated_size", pa.int64()),
    ]
)
