"""How DuckDB holds the values of each Arrow type, so that none passes through a type that cannot.

Files are read by Arrow. For joins and comparisons, DuckDB has each column in a *carrier*: a type
that it holds exactly, and in which values are equal and ordered as they are in the file. Values
that are shown or written never come from a carrier, but from the file.

| Arrow type | How | Carrier |
|---|---|---|
| bool, integers, float32, float64 | exact | the type |
| float16 | exact | float32 |
| decimals of up to 38 digits | exact | decimal128 |
| texts, bytes | exact | binary: a text that is not UTF-8 as well |
| dates, times, timestamps, durations | exact | the integer that is stored |
| null | exact | bool |
| decimals of more digits or a negative scale | bytes | big-endian, the sign bit inverted |
| interval of months, days, nanoseconds | bytes | likewise, in this order |
| lists, maps, structs | as their elements | lists and structs with numbered fields |
| dictionaries, run-end encoding, extensions | as their values | |
| unions and others | refused | |

NaN is equal to NaN, and 0.0 to -0.0. Maps are equal if their entries are, in their order. A type of
Parquet is carried as the Arrow type that it is read as: INT96 as a timestamp, UUID as 16 bytes,
VARIANT as the bytes of its parts.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from anabranch.tables.lists import entries, is_list, make_lists

__all__ = ["Carriage", "carriage_of", "carry"]

How = Literal["exact", "bytes", "refused"]

_MAX_DIGITS = 38
_SIGN = 0x80


class Carriage(msgspec.Struct, frozen=True):
    """How values of a type are carried, and the Arrow type of their carrier, None if refused."""

    how: How
    carrier: Any


_REFUSED = Carriage("refused", None)


def carriage_of(kind: Any) -> Carriage:  # noqa: C901, PLR0911  one for each kind of type
    """Returns how DuckDB carries values of an Arrow type."""
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    inner = _inner(kind)
    if inner is not None:
        return carriage_of(inner)
    if kinds.is_null(kind):
        return Carriage("exact", pa.bool_())
    if kinds.is_float16(kind):
        return Carriage("exact", pa.float32())
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        return Carriage("exact", kind)
    if kinds.is_decimal(kind):
        if kind.precision <= _MAX_DIGITS and 0 <= kind.scale <= kind.precision:
            return Carriage("exact", pa.decimal128(kind.precision, kind.scale))
        return Carriage("bytes", pa.binary())
    if _is_text_or_bytes(kind):
        is_large = kinds.is_large_string(kind) or kinds.is_large_binary(kind)
        return Carriage("exact", pa.large_binary() if is_large else pa.binary())
    if kinds.is_date(kind) or kinds.is_time(kind) or kinds.is_timestamp(kind):
        return Carriage("exact", pa.int32() if kind.bit_width == 32 else pa.int64())  # noqa: PLR2004
    if kinds.is_duration(kind):
        return Carriage("exact", pa.int64())
    if kind == pa.month_day_nano_interval():
        return Carriage("bytes", pa.binary())
    return _nested_carriage(kind)


def _nested_carriage(kind: Any) -> Carriage:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_map(kind):
        parts = [carriage_of(kind.key_type), carriage_of(kind.item_type)]
    elif kinds.is_struct(kind):
        parts = [carriage_of(field.type) for field in kind]
    elif is_list(kind):
        parts = [carriage_of(kind.value_type)]
    else:
        return _REFUSED
    if any(part.how == "refused" for part in parts):
        return _REFUSED
    how: How = "bytes" if any(part.how == "bytes" for part in parts) else "exact"
    carriers = [part.carrier for part in parts]
    if kinds.is_struct(kind):
        return Carriage(how, _struct(carriers) if carriers else pa.bool_())
    element = _struct(carriers) if kinds.is_map(kind) else carriers[0]
    is_large = kinds.is_large_list(kind) or kinds.is_large_list_view(kind)
    return Carriage(how, pa.large_list(element) if is_large else pa.list_(element))


def carry(array: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the values of an Arrow array in their carrier. The type must not be refused."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    carriage = carriage_of(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return carry(array.storage)
    if kinds.is_dictionary(kind):
        return carry(array.dictionary_decode())
    if kinds.is_run_end_encoded(kind):
        return carry(pc.run_end_decode(array))
    if kinds.is_nested(kind):
        return _carry_nested(array, carriage.carrier)
    if carriage.how == "bytes":
        return _ordered_bytes(array)
    if kinds.is_null(kind):
        return pa.nulls(len(array), pa.bool_())
    if kinds.is_temporal(kind):
        return array.view(carriage.carrier)
    if kinds.is_string_view(kind):
        return array.cast(pa.binary_view()).cast(carriage.carrier)
    return array if kind == carriage.carrier else array.cast(carriage.carrier)


def _inner(kind: Any) -> Any:
    """Returns the type of the values of a dictionary, a run-end encoding or an extension."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return kind.value_type
    return None


def _is_text_or_bytes(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    texts = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
    short = kinds.is_binary(kind) or kinds.is_fixed_size_binary(kind)
    return bool(texts or short or kinds.is_large_binary(kind) or kinds.is_binary_view(kind))


def _struct(carriers: list[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.struct([(f"c{number}", carrier) for number, carrier in enumerate(carriers)])


def _carry_nested(array: Any, carrier: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind, missing = array.type, array.is_null()
    if kinds.is_struct(kind):
        if not kind.num_fields:
            return pa.array([None if each else True for each in missing.to_pylist()], carrier)
        children = [carry(array.field(number)) for number in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(carrier), mask=missing)
    offsets, parts = entries(array)
    carried = [carry(part) for part in parts]
    values = carried[0]
    if kinds.is_map(kind):
        values = pa.StructArray.from_arrays(carried, fields=list(carrier.value_type))
    return make_lists(carrier, offsets, values, missing)


def _ordered_bytes(array: Any) -> Any:
    """Returns integers of fixed width as bytes that are ordered as the integers are."""
    import numpy as np  # noqa: PLC0415  pyarrow needs it for this as well
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    width = array.type.bit_width // 8
    # an interval is three numbers
    widths = [width] if pa.types.is_decimal(array.type) else [4, 4, 8]
    stored = np.frombuffer(array.buffers()[1], np.uint8)
    begin = array.offset * width
    rows = stored[begin : begin + len(array) * width].reshape(len(array), width)
    columns, start = [], 0
    for each in widths:
        part = rows[:, start : start + each][:, ::-1].copy()
        part[:, 0] ^= _SIGN
        columns.append(part)
        start += each
    data = np.ascontiguousarray(np.concatenate(columns, axis=1))
    fixed = pa.Array.from_buffers(pa.binary(width), len(array), [None, pa.py_buffer(data)])
    return pc.if_else(array.is_valid(), fixed, pa.scalar(None, fixed.type)).cast(pa.binary())
