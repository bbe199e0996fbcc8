"""Files of partitions are left out as pyiceberg leaves them out, and never one with a row."""

import datetime as dt
import itertools
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from support.formats.folder_objects import FolderObjects
from support.formats.iceberg_tables import FolderCatalog
from support.session.hypothesis_profiles import examples

from anabranch.tables.iceberg.partition_transforms import known_values, transform_result
from anabranch.tables.iceberg.snapshot import IcebergSnapshot
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.needs import ColumnCondition, Needs

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def micros(stamp):
    return (stamp - EPOCH) // dt.timedelta(microseconds=1)


LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40)
DATES = st.dates(dt.date(2, 1, 1), dt.date(9998, 12, 31)) | st.dates(
    dt.date(1969, 11, 1), dt.date(1970, 3, 1)
)
STAMPS = st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 12, 31)) | st.datetimes(  # noqa: DTZ001
    dt.datetime(1969, 12, 30),  # noqa: DTZ001
    dt.datetime(1970, 1, 3),  # noqa: DTZ001
)
TYPES = {
    "int": (IntegerType(), st.integers(-(2**31), 2**31 - 1) | st.integers(-40, 40), int),
    "long": (LongType(), LONGS, int),
    "date": (DateType(), DATES, lambda date: (date - EPOCH.date()).days),
    "timestamp": (TimestampType(), STAMPS, lambda stamp: micros(stamp.replace(tzinfo=dt.UTC))),
    "timestamptz": (
        TimestamptzType(),
        STAMPS.map(lambda stamp: stamp.replace(tzinfo=dt.UTC)),
        micros,
    ),
    "time": (
        TimeType(),
        st.times(),
        lambda time: micros(dt.datetime.combine(EPOCH, time, tzinfo=dt.UTC)),
    ),
    "decimal": (
        DecimalType(20, 2),
        st.decimals(-(10**17), 10**17, places=2, allow_nan=False),
        lambda number: int(number.scaleb(2)),
    ),
    "string": (
        StringType(),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.text("ab", max_size=4),
        str.encode,
    ),
    "binary": (BinaryType(), st.binary(max_size=4) | st.sampled_from([b"\xff\xff\xff"]), bytes),
    "uuid": (UUIDType(), st.uuids().map(lambda each: each.bytes), bytes),
}
BUCKETS = [(name, "bucket[3]") for name in TYPES]
TIMES = [
    (name, unit)
    for name, unit in itertools.product(
        ("date", "timestamp", "timestamptz"), ("year", "month", "day", "hour")
    )
    if (name, unit) != ("date", "hour")
]
CUT = [(name, "truncate[2]") for name in ("string", "binary")] + [
    (name, "truncate[10]") for name in ("int", "long", "decimal")
]
CASES = [*BUCKETS, *TIMES, *CUT]
OPERATORS = {
    "=": EqualTo,
    "<": LessThan,
    "<=": LessThanOrEqual,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
}
PYTHON = {"=": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


class Table:
    """A table of one column, with a file for each partition; the files are in its metadata only."""

    def __init__(self, folder, kind, transform, groups):
        self.folder = folder
        (folder / "t").mkdir()
        self.catalog = FolderCatalog(folder / "t")
        spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
        self.catalog.create(Schema(NestedField(1, "c", kind)), spec)
        self.values = {}
        apply = transform.transform(kind)
        for values in groups:
            by_partition = {}
            for value in values:
                by_partition.setdefault(None if value is None else apply(value), []).append(value)
            with (
                self.catalog.load().transaction() as transaction,
                transaction.update_snapshot().fast_append() as append,
            ):
                for partition, found in by_partition.items():
                    append.append_data_file(self.file(partition, found))

    def file(self, partition, values):
        address = f"{(self.folder / 't').as_uri()}/{len(self.values)}.parquet"
        self.values[address] = values
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=address,
            file_format=FileFormat.PARQUET,
            partition=Record(partition),
            record_count=len(values),
            file_size_in_bytes=1,
            spec_id=0,
        )

    def snapshot(self):
        return IcebergSnapshot(FolderObjects(self.folder), TablePlace("sea", "t/"))

    def planned(self, row_filter):
        scan = self.catalog.load().scan(row_filter=row_filter)
        return {task.file.file_path for task in scan.plan_files()}

    def needed(self, operator, values):
        return {
            address
            for address, found in self.values.items()
            if any(
                each is not None and any(getattr(each, PYTHON[operator])(value) for value in values)
                for each in found
            )
        }


@settings(max_examples=examples(30))
@given(st.sampled_from(CASES), st.data())
def test_partitions_are_left_out_as_by_pyiceberg_and_never_one_with_a_row(case, data):
    name, text = case
    kind, values, comparable = TYPES[name]
    drawn = data.draw(st.lists(st.lists(values | st.none(), min_size=1, max_size=5), max_size=3))
    wanted = data.draw(st.lists(values, min_size=1, max_size=2))
    wanted += [value for group in drawn for value in group if value is not None][:3]
    with tempfile.TemporaryDirectory() as folder:
        table = Table(Path(folder), kind, parse_transform(text), drawn)
        snapshot = table.snapshot()
        for value, (operator, of_pyiceberg) in itertools.product(wanted, OPERATORS.items()):
            files = files_of(snapshot, operator, [comparable(value)])
            assert table.needed(operator, [value]) <= files
            planned = table.planned(of_pyiceberg("c", value))
            assert files - early_files(table, text) <= planned, (operator, value)
        one_of = files_of(snapshot, "=", list(map(comparable, wanted)))
        assert table.needed("=", wanted) <= one_of
        assert one_of - early_files(table, text) <= table.planned(In("c", wanted))


def files_of(snapshot, operator, values):
    needs = Needs(scans=((ColumnCondition("c", operator, tuple(values)),),))
    return {file.address for file in snapshot.rows(needs).files}


def early_files(table, transform):
    """Returns the files into whose partitions old versions of Iceberg put values before 1970, too:
    they may be read where pyiceberg leaves them out.
    """
    if transform not in ("year", "month", "day", "hour"):
        return set()
    return {
        address
        for address, found in table.values.items()
        if any(value is not None and value.year <= 1970 for value in found)
    }


@pytest.mark.parametrize(
    ("sql", "transform"),
    [
        ("FLOAT", "bucket[2]"),
        ("BOOLEAN", "bucket[2]"),
        ("DATE", "hour"),
        ("TIME", "day"),
        ("VARCHAR", "year"),
        ("UUID", "truncate[2]"),
        ("BIGINT", "truncate[0]"),
        ("BIGINT", "zigzag[3]"),
        ("BIGINT", "void"),
    ],
)
def test_unknown_transforms_say_nothing(sql, transform):
    assert transform_result(transform, sql) == ""


def test_nanoseconds_and_far_years():
    assert transform_result("day", "TIMESTAMP_NS") == "INTEGER"
    found = known_values("day", "TIMESTAMP_NS", 1, 1, is_null=False)
    assert (found.lower, found.upper) == (86_400 * 10**9, 2 * 86_400 * 10**9 - 1)
    found = known_values("year", "DATE", -9999, 99_999, is_null=False)
    assert (found.lower, found.upper) == (None, None)
    seconds = known_values("bucket[16]", "TIMESTAMP", 0, 0, is_null=False)
    nanoseconds = known_values("bucket[16]", "TIMESTAMP_NS", 0, 0, is_null=False)
    for value in (0, 1_510_871_468_000_001, -1):
        parts = value * 1000 + 999
        assert seconds.may_meet("=", value) == nanoseconds.may_meet("=", parts)


def test_decimals_beyond_their_scale_are_no_bounds():
    from anabranch.tables.live_rows.comparable_values import unscale

    assert unscale(Decimal("1.50"), 2) == 150
    assert unscale(Decimal("-1.5"), 2) == -150
    assert unscale(Decimal("1.505"), 2) is None
    assert unscale(Decimal("1E+2"), 2) == 10_000
    assert unscale(Decimal("NaN"), 2) is None
