"""Manifests and lists of manifests of Iceberg tables, as engines write them, by fastavro."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import fastavro

__all__ = ["manifest", "manifest_list"]


def _field(number: int, name: str, kind: object) -> dict[str, Any]:
    return {"field-id": number, "name": name, "type": kind}


ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        _field(0, "status", "int"),
        _field(1, "snapshot_id", ["null", "long"]),
        _field(
            2,
            "data_file",
            {
                "type": "record",
                "name": "r2",
                "fields": [
                    _field(134, "content", "int"),
                    _field(100, "file_path", "string"),
                    _field(101, "file_format", "string"),
                    _field(103, "record_count", "long"),
                    _field(104, "file_size_in_bytes", "long"),
                    _field(143, "referenced_data_file", ["null", "string"]),
                ],
            },
        ),
    ],
}
LISTED = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(503, "added_snapshot_id", "long"),
    ],
}


def _avro(schema: dict[str, Any], records: Iterable[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    fastavro.writer(stream, schema, records)
    return stream.getvalue()


def manifest(
    files: Sequence[str], deleted: Sequence[str] = (), content: int = 0, of: str | None = None
) -> bytes:
    """Returns a manifest with live files and deleted ones."""
    rows = [(1, each) for each in files] + [(2, each) for each in deleted]
    return _avro(
        ENTRY,
        [
            {
                "status": status,
                "snapshot_id": 1,
                "data_file": {
                    "content": content,
                    "file_path": path,
                    "file_format": "PARQUET",
                    "record_count": 1,
                    "file_size_in_bytes": 1,
                    "referenced_data_file": of,
                },
            }
            for status, path in rows
        ],
    )


def manifest_list(manifests: Sequence[str]) -> bytes:
    """Returns a manifest list."""
    return _avro(
        LISTED,
        [
            {
                "manifest_path": each,
                "manifest_length": 1,
                "partition_spec_id": 0,
                "added_snapshot_id": 1,
            }
            for each in manifests
        ],
    )
