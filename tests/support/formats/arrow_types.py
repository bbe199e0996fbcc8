"""Every Arrow type that pyarrow makes, with values that differ from each other, also the smallest
and largest ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["IN_PARQUET", "NESTED", "SCALARS", "array_of", "nested"]

_WIDE = 10**75

SCALARS: Mapping[str, tuple[pa.DataType, Sequence[Any]]] = {
    "null": (pa.null(), [None]),
    "bool": (pa.bool_(), [False, True]),
    **{
        f"int{bits}": (getattr(pa, f"int{bits}")(), [-(2 ** (bits - 1)), 0, 2 ** (bits - 1) - 1])
        for bits in (8, 16, 32, 64)
    },
    **{
        f"uint{bits}": (getattr(pa, f"uint{bits}")(), [0, 1, 2**bits - 1])
        for bits in (8, 16, 32, 64)
    },
    "float16": (pa.float16(), [-65504.0, 6e-8, 65504.0]),
    "float32": (pa.float32(), [-1.5, 1.401298464324817e-45, 3.4028234663852886e38]),
    "float64": (pa.float64(), [-1.5, 5e-324, 0.1, 1.7976931348623157e308]),
    "decimal32": (pa.decimal32(9, 2), [-9999999, 0, 9999999]),
    "decimal64": (pa.decimal64(18, 2), [-(10**15), 0, 10**15]),
    "decimal128": (pa.decimal128(38, 2), [-(10**35), 10**35, 10**35 + 1]),
    "decimal256": (pa.decimal256(76, 0), [-_WIDE, -1, 0, _WIDE, _WIDE + 1]),
    "string": (pa.string(), ["", "a", "\0", "é\U0001f600"]),
    "large_string": (pa.large_string(), ["", "a", "\0", "é"]),
    "string_view": (pa.string_view(), ["", "a", "a text of more than twelve bytes", "é"]),
    "binary": (pa.binary(), [b"", b"\0", b"\xff\xfe"]),
    "large_binary": (pa.large_binary(), [b"", b"\0", b"\xff\xfe"]),
    "binary_view": (pa.binary_view(), [b"", b"\0", b"\xff" * 20]),
    "fixed_size_binary": (pa.binary(3), [b"abc", b"\0\0\0", b"\xff\xff\xff"]),
    "date32": (pa.date32(), [-719162, 0, 2932896]),
    "date64": (pa.date64(), [-86400000, 0, 86400000]),
    "time32_s": (pa.time32("s"), [0, 1, 86399]),
    "time32_ms": (pa.time32("ms"), [0, 1, 86399999]),
    "time64_us": (pa.time64("us"), [0, 1, 86399999999]),
    "time64_ns": (pa.time64("ns"), [0, 1, 86399999999999]),
    **{
        f"timestamp_{unit}{'_zoned' if zone else ''}": (pa.timestamp(unit, zone), values)
        for unit, values in {
            "s": [-62135596800, 0, 253402300799],
            "ms": [-62135596800000, 1, 253402300799999],
            "us": [-62135596800000000, 1, 253402300799999999],
            "ns": [-(2**62), 1704067200123456789, 1704067200123456790],
        }.items()
        for zone in (None, "UTC")
    },
    "timestamp_berlin": (pa.timestamp("ns", "Europe/Berlin"), [0, 1704067200123456789]),
    **{
        f"duration_{unit}": (pa.duration(unit), [-1, 0, 10**12 + 1])
        for unit in ("s", "ms", "us", "ns")
    },
    "interval": (pa.month_day_nano_interval(), [(-1, 0, 0), (1, -2, 3), (0, 30, 0), (0, 0, 2**40)]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "é"]),
    "ordered_dictionary": (pa.dictionary(pa.int16(), pa.string(), True), ["a", "b"]),
    "dictionary_of_numbers": (pa.dictionary(pa.int32(), pa.int64()), [1, 2**60]),
    "uuid": (pa.uuid(), [bytes(16), b"\xff" * 16]),
    "json": (pa.json_(), ["{}", '{"a": 1}']),
    "bool8": (pa.bool8(), [0, 1]),
    "opaque": (pa.opaque(pa.binary(), "point", "vendor"), [b"", b"x"]),
    "run_end_encoded": (pa.run_end_encoded(pa.int32(), pa.string()), ["a", "b"]),
}

IN_PARQUET = [name for name in SCALARS if name not in ("interval", "run_end_encoded")]
"""Those that pyarrow writes to Parquet."""

NESTED = (
    *("plain", "list", "large_list", "fixed_size_list", "list_view", "large_list_view"),
    *("struct", "map", "list_of_structs"),
)


def array_of(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Returns an array of values, which are given in the form in which the type stores them."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array_of(kind.storage_type, values))
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(pa.array(values, kind.value_type), run_end_type=kind.run_end_type)
    if pa.types.is_temporal(kind) and kind != pa.month_day_nano_interval():
        stored = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, stored).view(kind)
    if pa.types.is_float16(kind):
        return pa.array(values, pa.float32()).cast(kind)
    if pa.types.is_dictionary(kind):
        plain = pa.array(values, kind.value_type).dictionary_encode()
        indices = plain.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, plain.dictionary, ordered=kind.ordered)
    return pa.array(values, kind)


def nested(  # noqa: PLR0911  one for each shape
    shape: str, array: pa.Array, nulls: Sequence[bool] = (), *, is_numbered: bool = True
) -> pa.Array:
    """Returns an array of the same length whose values contain those of another, one each. `nulls`
    says which are null in place of that; otherwise the third is. `is_numbered` gives structs and
    maps a field, or a key, that is different in each row.
    """
    count = len(array)
    numbers = range(count) if is_numbered else [0] * count
    if shape == "plain":
        return array
    is_null = list(nulls) or [number == 2 for number in range(count)]
    missing = pa.array(is_null, pa.bool_())
    offsets = list(range(count + 1))
    if shape == "struct":
        other = pa.array(numbers, pa.int8())
        return pa.StructArray.from_arrays([other, array], ["x", "X"], mask=missing)
    if shape == "fixed_size_list":
        return pa.FixedSizeListArray.from_arrays(array, 1, mask=missing)
    if shape == "map":
        starts = pa.array(offsets, pa.int32())
        keys = pa.array([f"k{n}" for n in numbers], pa.string())
        return pa.MapArray.from_arrays(starts, keys, array, mask=missing)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), array, mask=missing)
    if shape == "large_list":
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), array, mask=missing)
    for name, make, size in (
        ("list_view", pa.ListViewArray, pa.int32()),
        ("large_list_view", pa.LargeListViewArray, pa.int64()),
    ):
        if shape == name:
            starts, lengths = pa.array(offsets[:-1], size), pa.array([1] * count, size)
            return make.from_arrays(starts, lengths, array, mask=missing)
    return lists
