"""Iceberg tables in a folder, and their rows as pyiceberg reads them."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from support.formats.folder_objects import FolderObjects, live_rows
from support.formats.iceberg_deletes import IcebergDeletes, field_with_id
from support.formats.iceberg_tables import FolderCatalog
from support.formats.table_rows import comparable_rows

from anabranch.tables.iceberg.snapshot import read_iceberg_table
from anabranch.tables.live_rows.addresses import TablePlace

PLACE = TablePlace("sea", "tables/t/")


SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "day", DateType()),
    NestedField(3, "price", DecimalType(10, 2)),
    NestedField(4, "at", TimestamptzType()),
    NestedField(5, "local", TimestampType()),
    NestedField(6, "flag", BooleanType()),
    NestedField(7, "raw", BinaryType()),
    NestedField(8, "level", DoubleType()),
    NestedField(9, "small", IntegerType()),
    NestedField(
        10,
        "nested",
        StructType(
            NestedField(11, "x", IntegerType()),
            NestedField(12, "words", ListType(13, StringType(), False)),
        ),
    ),
    NestedField(
        14,
        "by_name",
        MapType(15, StringType(), 16, StructType(NestedField(17, "y", IntegerType())), False),
    ),
    NestedField(18, "time", TimeType()),
    NestedField(19, "text", StringType()),
    NestedField(20, "code", FixedType(3)),
    NestedField(21, "key", UUIDType()),
    NestedField(22, "ratio", FloatType()),
)


ROWS = [
    {
        "id": number,
        "day": dt.date(1850 + 40 * number, 2, 28) if number % 3 else None,
        "price": Decimal("1.50") if number % 2 else Decimal("-12345678.99"),
        "at": dt.datetime(1950 + 10 * number, 1, 1, number, 0, 0, 5, tzinfo=dt.UTC),
        "local": dt.datetime(1900, 1, 1, number, 30),  # noqa: DTZ001
        "flag": bool(number % 2),
        "raw": b"\x01\xfe" if number % 2 else b"ab",
        "level": [float("nan"), float("inf"), 1.5][number % 3],
        "small": -number,
        "nested": None if number % 2 else {"x": number, "words": ["q", None]},
        "by_name": None if number % 2 else [("k", {"y": 1}), ("n", None)],
        "time": dt.time(1, 2, 3, number),
        "text": ["a", "b ü/:%"][number % 2] if number % 3 else None,
        "code": b"abc",
        "key": uuid.UUID(int=number + 5).bytes,
        "ratio": number / 3,
    }
    for number in range(8)
]


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "tables" / "t"
    found.mkdir(parents=True)
    return found


@pytest.fixture
def objects(tmp_path):
    return FolderObjects(tmp_path)


@pytest.fixture
def read(objects):
    def read(snapshot=None, **options):
        return live_rows(read_iceberg_table(objects, PLACE, snapshot), objects, **options)

    return read


@pytest.fixture(params=[True, False], ids=["hadoop", "catalog"])
def catalog(request, folder):
    return FolderCatalog(folder, hadoop=request.param)


@pytest.fixture
def deletes(folder):
    return IcebergDeletes(folder)


def create(catalog, *columns):
    fields = [
        PartitionField(SCHEMA.find_field(name).field_id, 1000 + number, IdentityTransform(), name)
        for number, name in enumerate(columns)
    ]
    catalog.create(SCHEMA, PartitionSpec(*fields) if fields else UNPARTITIONED_PARTITION_SPEC)


def append(catalog, *rows):
    table = catalog.load()
    table.append(pa.Table.from_pylist(list(rows), table.schema().as_arrow()))


def assert_same(read, catalog, snapshot=None):
    expected = catalog.load().scan(snapshot_id=snapshot).to_arrow()
    key = expected.schema.get_field_index("key")
    if key >= 0:  # DuckDB gives UUIDs as texts
        texts = [None if each is None else str(each) for each in expected["key"].to_pylist()]
        expected = expected.set_column(key, "key", pa.array(texts, pa.string()))
    found = read(snapshot)
    assert found.column_names == expected.column_names
    assert comparable_rows(found) == comparable_rows(expected)


def stored(catalog, name, kind):
    return field_with_id(name, kind, catalog.load().schema().find_field(name).field_id)
