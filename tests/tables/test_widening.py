"""Wider types: each value of both types is one of theirs, and there are no others."""

import decimal
import itertools

import pyarrow as pa
import pytest
from support.formats.arrow_types import SCALARS, array_of, nested

from anabranch.tables.widening import convert, widest

D128, D256 = pa.decimal128, pa.decimal256


@pytest.mark.parametrize(
    ("one", "other", "wider"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int8(), pa.uint8(), pa.int16()),
        (pa.uint32(), pa.int8(), pa.int64()),
        (pa.uint64(), pa.int64(), None),
        (pa.int32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.int16(), pa.float32(), pa.float32()),
        (pa.int8(), pa.float16(), pa.float16()),
        (pa.int64(), pa.float32(), None),
        (pa.int64(), pa.float64(), None),
        (pa.uint64(), pa.float64(), None),
        (pa.float32(), pa.float64(), pa.float64()),
        (D128(38, 2), D128(38, 6), None),
        (D128(38, 18), D128(38, 0), None),
        (D128(10, 2), D128(8, 4), D128(12, 4)),
        (D256(50, 2), D128(10, 4), D256(52, 4)),
        (D256(76, 0), D128(10, 4), None),
        (pa.int32(), D128(12, 2), D128(12, 2)),
        (pa.int64(), D128(38, 2), D128(38, 2)),
        (pa.int64(), D128(38, 37), None),
        (D128(5, 2), pa.float64(), None),
        (pa.date32(), pa.timestamp("us"), pa.timestamp("us")),
        (pa.date32(), pa.timestamp("us", "UTC"), None),
        (pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo"), pa.timestamp("us", "UTC")),
        (pa.time32("s"), pa.time64("ns"), pa.time64("ns")),
        (pa.string(), pa.large_string(), pa.string()),
        (pa.string(), pa.binary(), None),
        (pa.binary(3), pa.binary(4), pa.binary()),
        (pa.null(), pa.list_(pa.int8()), pa.list_(pa.int8())),
        (pa.bool_(), pa.int8(), None),
        (pa.list_(pa.int8()), pa.list_(pa.int16()), pa.list_(pa.int16())),
        (pa.list_(pa.int8()), pa.int8(), None),
        (
            pa.struct([("a", pa.int8())]),
            pa.struct([("a", pa.int16()), ("b", pa.string())]),
            pa.struct([("a", pa.int16()), ("b", pa.string())]),
        ),
        (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.string())]), None),
        (pa.uuid(), pa.binary(16), None),
    ],
)
def test_the_wider_type(one, other, wider):
    assert widest(one, other) == wider
    back = widest(other, one)
    same_family = wider in (pa.string(), pa.timestamp("us", "UTC"))
    assert back == wider or same_family


PAIRS = [
    (one, other)
    for one, other in itertools.product(SCALARS, SCALARS)
    if widest(SCALARS[one][0], SCALARS[other][0]) not in (None, SCALARS[one][0])
]


@pytest.mark.parametrize("shape", ["plain", "list", "struct", "map", "fixed_size_list"])
@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.sample(40)
def test_values_are_the_same_in_the_wider_type(one, other, shape):
    kind, values = SCALARS[one]
    plain = array_of(kind, [*values, None])
    array = nested(shape, plain)
    target = widest(array.type, nested(shape, array_of(*swapped(other))).type)
    try:
        found = convert(array, target)
    except pa.ArrowInvalid:
        # an instant beyond the range of the finer unit
        assert pa.types.is_temporal(kind)
        return
    found.validate(full=True)
    assert found.type == target
    assert list(map(comparable, found.to_pylist())) == list(map(comparable, array.to_pylist()))


def swapped(name):
    kind, values = SCALARS[name]
    return kind, list(values)[:1]


def comparable(value):
    """Returns a value in a form that is equal for other types: numbers exactly, dates as texts."""
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    if isinstance(value, int | float | decimal.Decimal):
        return decimal.Decimal(value)
    if hasattr(value, "total_seconds"):
        nanoseconds = getattr(value, "value", None)  # of pandas, which has these
        whole = (value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000
        return whole if nanoseconds is None else nanoseconds
    if hasattr(value, "isoformat"):
        return value.isoformat().partition("T")[0] if hasattr(value, "year") else str(value)
    return value if value is None else str(value)
