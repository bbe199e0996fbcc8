"""What a page shows of a table in a folder: its columns, versions, partitions and first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from anabranch.errors import Invalid
from anabranch.pipelines.queries.functions.lake_tables import open_lake_table
from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem
from anabranch.tables.folder_tables import find_format, read_table, read_versions
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.live_rows.columns import Column, Scalar, sql_type
from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.tables.live_rows.relation import create_relation

__all__ = ["describe_table", "shown_columns"]

_MAX_VERSIONS = 100
_MAX_PARTITIONS = 1000
_MAX_PROPERTIES = 1000
_MAX_PROPERTY_CHARS = 10_000


def describe_table(
    connection: Any, relation: str, objects: ObjectFilesystem, request: dict[str, Any]
) -> dict[str, Any]:
    """Returns what is known of the table at the request's `address` and `version`, and creates the
    view `relation` of its first rows. Raises Invalid for what is no table, and what reading raises.
    """
    found, place = open_lake_table(objects, request["address"])
    table_format = find_format(found, place)
    if table_format is None:
        raise Invalid(
            f"{request['address']} holds no table",
            kind="no_table",
            hint="Give the folder that holds _delta_log/ or metadata/.",
        )
    table = read_table(found, place, table_format, request["version"])
    create_relation(connection, relation, table, found, max_rows=request["max_rows"] + 1)
    versions = read_versions(found, place, table_format, _MAX_VERSIONS)
    metadata = MetadataFiles(found, place) if table_format == "iceberg" else None
    rows = [file.rows for file in table.files]
    is_counted = not any(file.has_deletes() for file in table.files) and not table.equality_deletes
    return {
        "format": table_format,
        "version": _text(table.version),
        "schema": [_column(column, table) for column in table.columns],
        "versions": [
            {**msgspec.structs.asdict(each), "version": str(each.version)} for each in versions
        ],
        "partitioning": list(table.partitioning),
        "partitions": _partitions(table),
        "properties": _properties(table),
        "location": table.location,
        "files": len(table.files),
        "size_bytes": _total([file.size for file in table.files]),
        "row_count": _total(rows) if is_counted else None,
        "metadata_path": metadata.folder + metadata.current() if metadata else "",
    }


def shown_columns(table: list[dict[str, Any]]) -> list[str]:
    """Returns the names of the columns whose values can be read."""
    return [column["name"] for column in table if column["readable"]]


def _column(column: Column, table: LiveTable) -> dict[str, Any]:
    own = column.type.name if isinstance(column.type, Scalar) else sql_type(column.type)
    return {
        "name": column.name,
        "type": own,
        "required": column.required,
        "is_partition": column.name in table.partition_columns,
        "readable": not column.refusal,
    }


def _properties(table: LiveTable) -> dict[str, str]:
    first = sorted(table.properties.items())[:_MAX_PROPERTIES]
    return {str(name): str(text)[:_MAX_PROPERTY_CHARS] for name, text in first}


class _Counts(msgspec.Struct):
    files: int = 0
    rows: int | None = 0
    size_bytes: int | None = 0


def _partitions(table: LiveTable) -> list[dict[str, Any]]:
    """Returns the first partitions with their numbers of files and rows; deleted rows count."""
    found: dict[tuple[tuple[str, str | None], ...], _Counts] = {}
    for file in table.files:
        counts = found.setdefault(tuple(file.partition.items()), _Counts())
        counts.files += 1
        counts.rows = _total([counts.rows, file.rows])
        counts.size_bytes = _total([counts.size_bytes, file.size])
    return [
        {"values": dict(values), **msgspec.structs.asdict(counts)}
        for values, counts in list(found.items())[:_MAX_PARTITIONS]
        if values
    ]


def _total(numbers: Sequence[int | None]) -> int | None:
    """Returns the sum of numbers, None if one of them is not known."""
    return None if None in numbers else sum(filter(None, numbers))


def _text(version: int | None) -> str:
    return "" if version is None else str(version)
