"""Files of Delta tables are left out by their statistics, and never one with a row."""

import datetime as dt
import itertools
import json
import math
import operator
import struct
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from support.formats.folder_objects import FolderObjects
from support.session.hypothesis_profiles import examples

from anabranch.tables.delta.needed_files import is_file_needed
from anabranch.tables.lake_table import DeltaLakeTable
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.columns import Column, Scalar
from anabranch.tables.live_rows.live_table import LiveFile
from anabranch.tables.live_rows.needs import ColumnCondition, Needs

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def micros(stamp):
    return (stamp.replace(tzinfo=dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)


STAMPS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) | st.datetimes(  # noqa: DTZ001
    dt.datetime(2024, 1, 1),  # noqa: DTZ001
    dt.datetime(2024, 1, 1, 0, 0, 0, 3000),  # noqa: DTZ001
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.integers(0, 3).map(
    lambda number: "long" * 12 + str(number)
)
TYPES = {
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1), int),
    "byte": (pa.int8(), st.integers(-128, 127), int),
    "text": (pa.string(), TEXTS, str.encode),
    "flag": (pa.bool_(), st.booleans(), bool),
    "ratio": (pa.float32(), st.floats(width=32), float),
    "level": (pa.float64(), st.floats(), float),
    "day": (
        pa.date32(),
        st.dates(dt.date(1500, 1, 1), dt.date(2200, 1, 1)),
        lambda day: (day - EPOCH.date()).days,
    ),
    "local": (pa.timestamp("us"), STAMPS, micros),
    "instant": (pa.timestamp("us", tz="UTC"), STAMPS, micros),
    "price": (
        pa.decimal128(10, 2),
        st.decimals(-(10**7), 10**7, places=2, allow_nan=False),
        lambda number: int(number.scaleb(2)),
    ),
    "wide": (
        pa.decimal128(38, 5),
        st.decimals(-(10**30), 10**30, places=5, allow_nan=False).map(
            lambda number: Decimal(str(number))
        ),
        lambda number: int(number.scaleb(5)),
    ),
    "raw": (pa.binary(), st.binary(max_size=3), bytes),
}
OPERATORS = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PARSED = {
    "delta.checkpoint.writeStatsAsStruct": "true",
    "delta.checkpoint.writeStatsAsJson": "false",
}


def order(value):
    """Returns what orders values as SQL does: NaN is more than all numbers."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


@settings(max_examples=examples(40))
@given(st.sampled_from(sorted(TYPES)), st.booleans(), st.data())
def test_no_file_with_a_row_is_left_out(name, is_parsed, data):
    kind, values, comparable = TYPES[name]
    drawn = data.draw(
        st.lists(st.lists(values | st.none(), min_size=1, max_size=4), min_size=1, max_size=3)
    )
    wanted = [data.draw(values)] + [each for group in drawn for each in group if each is not None]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "t"
        for group in drawn:
            rows = pa.table({"c": pa.array(group, kind)})
            write_deltalake(place, rows, mode="append", configuration=PARSED)
        if is_parsed:
            DeltaTable(place).create_checkpoint()
        table = DeltaLakeTable(FolderObjects(Path(folder)), TablePlace("sea", "t/"), None)
        paths = [path for path, _ in sorted(added(place), key=lambda each: each[1])]
        for value, (symbol, compare) in itertools.product(wanted[:4], OPERATORS.items()):
            needs = needs_of(symbol, comparable(value))
            found = {file.address for file in table.rows(needs).files}
            for path, group in zip(paths, drawn, strict=True):
                has_row = any(
                    each is not None and compare(order(each), order(value)) for each in group
                )
                assert path in found or not has_row, (symbol, value, group)


def needs_of(symbol, *values):
    return Needs(scans=((ColumnCondition("c", symbol, values),),))


def added(place):
    for commit in place.glob("_delta_log/*.json"):
        for line in commit.read_text().splitlines():
            if (action := json.loads(line)).keys() == {"add"}:
                yield action["add"]["path"], commit.name


@pytest.mark.parametrize("is_parsed", [False, True])
def test_files_are_left_out_by_their_statistics(tmp_path, is_parsed):
    columns = {
        "long": [1, 5],
        "text": ["a" * 40, "b" * 40],
        "ratio": [0.5, 1.5],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 1)],
        "local": [dt.datetime(2024, 1, number) for number in (1, 2)],  # noqa: DTZ001
        "instant": [dt.datetime(2024, 1, number, tzinfo=dt.UTC) for number in (1, 2)],
        "price": [Decimal("1.50"), Decimal("2.50")],
    }
    for place in range(3):
        rows = {
            name: pa.array([None if place == 2 else values[place]], TYPES[name][0])
            for name, values in columns.items()
        }
        write_deltalake(tmp_path / "t", pa.table(rows), mode="append", configuration=PARSED)
    if is_parsed:
        DeltaTable(tmp_path / "t").create_checkpoint()
    table = DeltaLakeTable(FolderObjects(tmp_path), TablePlace("sea", "t/"), None)
    for name, values in columns.items():
        comparable = TYPES[name][2]
        for symbol, value in (("=", values[0]), ("=", values[1]), ("<", values[1])):
            condition = ColumnCondition(name, symbol, (comparable(value),))
            assert len(table.rows(Needs(scans=((condition,),))).files) == 1, (name, symbol)


SINGLE = struct.unpack("<f", struct.pack("<f", 0.1))[0]
CUT = "x" * 32


@pytest.mark.parametrize(
    ("sql", "lower", "upper", "value", "is_needed"),
    [
        # Spark cuts texts to 32 characters, and appends one to the upper bound
        ("VARCHAR", CUT, CUT + "\U0010ffff", CUT + "\U0001f600", True),
        ("VARCHAR", CUT, CUT + "\ufffd", CUT + "\U0001f600", True),
        ("VARCHAR", CUT, CUT + "\x7f", CUT + "z", True),
        ("VARCHAR", CUT, CUT + "\x7f", "y", False),
        ("VARCHAR", "a", "b", "ba", False),
        # Spark cuts times to milliseconds
        ("TIMESTAMP", "2024-01-01T00:00:00.000", "2024-01-01T00:00:00.001", 1_999, True),
        ("TIMESTAMP", "2024-01-01T00:00:00.000", "2024-01-01T00:00:00.001", 2_002, False),
        ("TIMESTAMP WITH TIME ZONE", None, "2023-12-31T16:00:00.000-08:00", 999, True),
        ("TIMESTAMP WITH TIME ZONE", None, "2023-12-31T16:00:00.000-08:00", 1_001, False),
        ("TIMESTAMP WITH TIME ZONE", None, "2023-12-31T16:00:00.000", 1_001, True),
        ("TIMESTAMP", None, "2023-12-31T16:00:00.000Z", 1_001, True),
        ("TIMESTAMP", None, "1899-12-31T16:00:00.000", 1_001, True),
        ("DATE", None, "1582-10-14", 0, True),
        ("DATE", None, "1582-10-15", 0, False),
        ("DATE", None, "2024-13-01", 10**5, True),
        # numbers of a column that was widened have the digits of single precision
        ("DOUBLE", 0.1, 0.1, SINGLE, True),
        ("DOUBLE", 0.1, 0.1, 0.2, False),
        ("DOUBLE", 0.1, "NaN", 0.2, True),
        ("DOUBLE", 1e300, 1e301, 1.0, False),
        # some writers have decimals as doubles
        ("DECIMAL(15, 2)", 1, 1.5, 151, False),
        ("DECIMAL(16, 2)", 1, 1.5, 151, True),
        ("DECIMAL(15, 2)", 1, 1.505, 151, True),
        ("BIGINT", 3, 4, 5, False),
        ("BIGINT", 3, 4.5, 5, True),
        ("BIGINT", 4, 3, 5, True),
        ("BIGINT", None, True, 5, True),
        ("BOOLEAN", None, False, True, False),
        ("BLOB", "a", "b", b"c", True),
    ],
)
def test_bounds_of_writers(sql, lower, upper, value, is_needed):
    if sql.startswith("TIMESTAMP"):
        value += micros(dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
    if isinstance(value, str):
        value = value.encode()
    bounds = {"minValues": {"C": lower}, "maxValues": {"C": upper}}
    assert needed(sql, {"numRecords": 2, **bounds}, "=", value) == is_needed


def needed(sql, statistics, symbol, value):
    text = statistics if isinstance(statistics, str) else json.dumps(statistics)
    file = LiveFile(path="p", address="p", rows=2, values={}, partition={}, statistics=text)
    column = Column(name="c", stored_name="C", type=Scalar(sql, sql))
    return is_file_needed(file, {"c": column}, needs_of(symbol, value))


def test_nulls_and_nan():
    assert not needed("BLOB", {"numRecords": 2, "nullCount": {"C": 2}}, "=", b"x")
    assert needed("BLOB", {"numRecords": 2, "nullCount": {"C": 1}}, "=", b"x")
    assert needed("BLOB", {"numRecords": None, "nullCount": {"C": None}}, "=", b"x")
    bounds = {"numRecords": 2, "minValues": {"C": 1.0}, "maxValues": {"C": 2.0}}
    assert needed("DOUBLE", bounds, ">", 5.0)  # some writers leave NaN out
    assert not needed("DOUBLE", bounds, "=", 5.0)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"minValues": 1}', '{"minValues": {"C": 1e999999999}}']
)
def test_damaged_statistics_leave_out_nothing(text):
    assert needed("BIGINT", text, "=", 5)
    assert needed("DOUBLE", text, "=", 5.0)
    assert needed("DECIMAL(10, 2)", text.replace("e9", "e-9"), "=", 5)
