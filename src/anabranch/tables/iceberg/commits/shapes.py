"""The forms that the parts of a table's metadata have.

They check what is given and say what the functions of this package may rely on; what is stored is
the value that was given, so that fields without a place here are kept.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "EncryptionKey",
    "FieldShape",
    "Int32",
    "Int64",
    "MetadataShape",
    "PartitionFieldShape",
    "PartitionStatistics",
    "RefShape",
    "SchemaShape",
    "SnapshotShape",
    "SortFieldShape",
    "SortOrderShape",
    "SpecShape",
    "StatisticsShape",
]

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Positive = Annotated[int, Meta(ge=1, le=2**63 - 1)]
_Text = Annotated[str, Meta(min_length=1)]


class FieldShape(msgspec.Struct, rename="kebab"):
    """A field of a struct; its type is checked by `schemas.py`."""

    id: Int32
    name: str
    required: bool
    type: Any
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None


class SchemaShape(msgspec.Struct, rename="kebab"):
    """A schema; its fields are checked by `schemas.py`."""

    type: Literal["struct"]
    fields: list[Any]
    schema_id: Int32 | None = None
    identifier_field_ids: list[Int32] | None = None


class PartitionFieldShape(msgspec.Struct, rename="kebab"):
    """A field of a partition spec."""

    name: _Text
    transform: str
    source_id: Int32 | None = None
    source_ids: list[Int32] | None = None
    field_id: Int32 | None = None


class SpecShape(msgspec.Struct, rename="kebab"):
    """A partition spec."""

    fields: list[PartitionFieldShape]
    spec_id: Int32 | None = None


class SortFieldShape(msgspec.Struct, rename="kebab"):
    """A field of a sort order."""

    transform: str
    direction: Literal["asc", "desc"]
    null_order: Literal["nulls-first", "nulls-last"]
    source_id: Int32 | None = None
    source_ids: list[Int32] | None = None


class SortOrderShape(msgspec.Struct, rename="kebab"):
    """A sort order."""

    fields: list[SortFieldShape]
    order_id: Int32 | None = None


class SnapshotShape(msgspec.Struct, rename="kebab"):
    """A snapshot. Those of version 1 may have `manifests` in place of a manifest list."""

    snapshot_id: Int64
    timestamp_ms: Int64
    manifest_list: str | None = None
    manifests: list[str] | None = None
    parent_snapshot_id: Int64 | None = None
    sequence_number: _Count | None = None
    summary: dict[str, str] | None = None
    schema_id: Int32 | None = None
    first_row_id: _Count | None = None
    added_rows: _Count | None = None
    key_id: str | None = None


class RefShape(msgspec.Struct, rename="kebab"):
    """A branch or a tag of a table."""

    snapshot_id: Int64
    type: Literal["branch", "tag"]
    min_snapshots_to_keep: _Positive | None = None
    max_snapshot_age_ms: _Positive | None = None
    max_ref_age_ms: _Positive | None = None


class _BlobMetadata(msgspec.Struct, rename="kebab"):
    type: str
    snapshot_id: Int64
    sequence_number: _Count
    fields: list[Int32]
    properties: dict[str, str] | None = None


class StatisticsShape(msgspec.Struct, rename="kebab"):
    """A file of statistics of a snapshot."""

    snapshot_id: Int64
    statistics_path: _Text
    file_size_in_bytes: _Count
    file_footer_size_in_bytes: _Count
    blob_metadata: list[_BlobMetadata]


class PartitionStatistics(msgspec.Struct, rename="kebab"):
    """A file of statistics of the partitions of a snapshot."""

    snapshot_id: Int64
    statistics_path: _Text
    file_size_in_bytes: _Count


class EncryptionKey(msgspec.Struct, rename="kebab"):
    """A key that is stored encrypted."""

    key_id: _Text
    encrypted_key_metadata: str
    encrypted_by_id: str | None = None
    properties: dict[str, str] | None = None


class _SnapshotLogEntry(msgspec.Struct, rename="kebab"):
    snapshot_id: Int64
    timestamp_ms: Int64


class _MetadataLogEntry(msgspec.Struct, rename="kebab"):
    metadata_file: str
    timestamp_ms: Int64


class MetadataShape(msgspec.Struct, rename="kebab"):
    """The metadata of a table. What version 1 leaves out, and later ones need, is optional."""

    format_version: int
    location: _Text
    last_updated_ms: Int64
    last_column_id: Int32
    table_uuid: _Text | None = None
    last_sequence_number: _Count = 0
    schema: SchemaShape | None = None
    schemas: list[SchemaShape] | None = None
    current_schema_id: Int32 = 0
    partition_spec: list[PartitionFieldShape] | None = None
    partition_specs: list[SpecShape] | None = None
    default_spec_id: Int32 = 0
    last_partition_id: Int32 | None = None
    sort_orders: list[SortOrderShape] | None = None
    default_sort_order_id: Int32 = 0
    properties: dict[str, str] | None = None
    current_snapshot_id: Int64 | None = None
    snapshots: list[SnapshotShape] | None = None
    snapshot_log: list[_SnapshotLogEntry] | None = None
    metadata_log: list[_MetadataLogEntry] | None = None
    refs: dict[str, RefShape] | None = None
    statistics: list[StatisticsShape] | None = None
    partition_statistics: list[PartitionStatistics] | None = None
    next_row_id: _Count | None = None
    encryption_keys: list[EncryptionKey] | None = None
