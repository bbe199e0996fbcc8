"""The forms of values in requests and metadata, prepared at import: see `converter.py`."""

from __future__ import annotations

from typing import Any

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.shapes import (
    EncryptionKey,
    FieldShape,
    Int32,
    Int64,
    MetadataShape,
    PartitionFieldShape,
    PartitionStatistics,
    RefShape,
    SchemaShape,
    SnapshotShape,
    SortFieldShape,
    SortOrderShape,
    SpecShape,
    StatisticsShape,
)

__all__ = [
    "ENCRYPTION_KEY",
    "FIELD",
    "FLAG",
    "INT32",
    "INT64",
    "INTS32",
    "INTS64",
    "METADATA",
    "NAMES",
    "NUMBER",
    "OBJECT",
    "OBJECTS",
    "PARTITION_FIELDS",
    "PARTITION_STATISTICS",
    "REF",
    "SCHEMA",
    "SNAPSHOT",
    "SORT_FIELDS",
    "SORT_ORDER",
    "SPEC",
    "STATISTICS",
    "TEXT",
    "TEXTS",
]

FLAG = Converter(bool)
NUMBER = Converter(int)
TEXT = Converter(str)
NAMES = Converter(list[str])
TEXTS = Converter(dict[str, str])
OBJECT = Converter(dict[str, Any])
OBJECTS = Converter(list[dict[str, Any]])
INT32: Converter[int] = Converter(Int32)
INT64: Converter[int] = Converter(Int64)
INTS32: Converter[list[int]] = Converter(list[Int32])
INTS64: Converter[list[int]] = Converter(list[Int64])

FIELD = Converter(FieldShape)
SCHEMA = Converter(SchemaShape)
PARTITION_FIELDS = Converter(list[PartitionFieldShape])
SPEC = Converter(SpecShape)
SORT_FIELDS = Converter(list[SortFieldShape])
SORT_ORDER = Converter(SortOrderShape)
SNAPSHOT = Converter(SnapshotShape)
REF = Converter(RefShape)
STATISTICS = Converter(StatisticsShape)
PARTITION_STATISTICS = Converter(PartitionStatistics)
ENCRYPTION_KEY = Converter(EncryptionKey)
METADATA = Converter(MetadataShape)
