"""The columns of metadata as tables of queries and DataFrames of Spark, as Arrow schemas."""

from __future__ import annotations

import pyarrow as pa

from anabranch.model.commits.commit import Commit

__all__ = ["CHANGES", "COMMITS", "ENTRY", "OBJECTS", "OBJECT_METADATA", "commit_row"]

_TIMESTAMP = pa.timestamp("us", "UTC")
_TEXTS = pa.map_(pa.string(), pa.string())

ENTRY = pa.struct(
    [
        ("physical_address", pa.string()),
        ("last_modified", _TIMESTAMP),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("metadata", _TEXTS),
        ("content_type", pa.string()),
    ]
)
OBJECTS = pa.schema([("path", pa.string()), *ENTRY])
OBJECT_METADATA = pa.schema([("path", pa.string()), ("key", pa.string()), ("value", pa.string())])
CHANGES = pa.schema(
    [("change", pa.string()), ("path", pa.string()), ("left", ENTRY), ("right", ENTRY)]
)
COMMITS = pa.schema(
    [
        ("id", pa.string()),
        ("message", pa.string()),
        ("committer", pa.string()),
        ("creation_date", _TIMESTAMP),
        ("parents", pa.list_(pa.string())),
        ("metadata", _TEXTS),
        ("metarange_id", pa.string()),
        ("generation", pa.int64()),
    ]
)


def commit_row(commit: Commit) -> dict[str, object]:
    """Returns the values of a commit by the columns of COMMITS."""
    return {
        "id": commit.id,
        "message": commit.message,
        "committer": commit.committer,
        "creation_date": commit.creation_date * 1_000_000,
        "parents": list(commit.parents),
        "metadata": list(commit.metadata.items()),
        "metarange_id": commit.metarange_id,
        "generation": commit.generation,
    }
