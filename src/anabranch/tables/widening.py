"""The type that holds every value of two types, and values in it.

Widening loses nothing: a type is wider only if each value of the other is one of its values. Dates,
timestamps and durations of other units have the same instants, but not the same range: a value that
is out of range is refused when it is converted, and changes nothing.

| Types | Wider |
|---|---|
| integers | the larger; of one with and one without a sign, the next larger with a sign |
| integers of up to 8, 16, 32 bits with float16, float32, float64 | a float that holds both |
| 64-bit integers with floats; decimals with floats | none |
| decimals, integers | a decimal with the digits of both before and after the point |
| dates and timestamps without a zone; units of times, timestamps, durations | the finer unit |
| timestamps with zones | the first zone: the instants are the same |
| texts; bytes | the first of both if they are of one family |
| lists, maps, structs | of wider elements; a struct with the fields of both |
| null and another | the other |
| everything else | none |

A decimal has at most 38 digits, which all readers hold; at most 76 if one of the two has more than
38, which only Arrow reads.
"""

from __future__ import annotations

from typing import Any

from anabranch.tables.lists import entries, is_list, make_lists

__all__ = ["convert", "widest"]

_MAX_DIGITS = 38
_MAX_WIDE_DIGITS = 76
_EXACT_BITS = {16: 11, 32: 24, 64: 53}
"""The bits of integers that a float of so many bits holds exactly."""

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_UNITS = ("s", "ms", "us", "ns")


def widest(one: Any, other: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the Arrow type that holds every value of two types, None if there is none. Of equal
    ones it is the first.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    if one == other:
        return one
    if kinds.is_null(one) or kinds.is_null(other):
        return other if kinds.is_null(one) else one
    if isinstance(one, pa.BaseExtensionType) or isinstance(other, pa.BaseExtensionType):
        return None
    if kinds.is_dictionary(one) and kinds.is_dictionary(other):
        value = widest(one.value_type, other.value_type)
        index = widest(one.index_type, other.index_type)
        is_ordered = one.ordered and other.ordered
        return None if value is None else pa.dictionary(index or pa.int64(), value, is_ordered)
    if _is_encoded(one) or _is_encoded(other):
        return widest(_decode(one), _decode(other))
    if _is_number(one) and _is_number(other):
        return _wider_number(one, other)
    return _wider_time(one, other) or _wider_text(one, other) or _wider_nested(one, other)


def _is_encoded(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    return bool(kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind))


def _decode(kind: Any) -> Any:
    return kind.value_type if _is_encoded(kind) else kind


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _wider_number(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_decimal(one) or kinds.is_decimal(other):
        if kinds.is_floating(one) or kinds.is_floating(other):
            return None
        return _wider_decimal(one, other)
    floats = [kind for kind in (one, other) if kinds.is_floating(kind)]
    bits = max((kind.bit_width for kind in floats), default=0)
    if len(floats) == 1:
        (integer,) = (kind for kind in (one, other) if kinds.is_integer(kind))
        enough = (width for width, exact in _EXACT_BITS.items() if integer.bit_width <= exact)
        bits = max(bits, next(enough, 0)) if integer.bit_width <= _EXACT_BITS[64] else 0
    if floats:
        return {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}.get(bits)
    return _wider_integer(one, other)


def _wider_integer(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_signed_integer(one) == kinds.is_signed_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    signed, unsigned = (one, other) if kinds.is_signed_integer(one) else (other, one)
    bits = max(signed.bit_width, unsigned.bit_width * 2)
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits)


def _wider_decimal(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    digits = [
        (kind.precision - kind.scale, kind.scale)
        if pa.types.is_decimal(kind)
        else (_DIGITS[kind.bit_width], 0)
        for kind in (one, other)
    ]
    scale = max(after for _, after in digits)
    precision = max(before for before, _ in digits) + scale
    is_wide = any(pa.types.is_decimal256(kind) for kind in (one, other))
    if precision <= _MAX_DIGITS and not is_wide:
        return pa.decimal128(precision, scale)
    return pa.decimal256(precision, scale) if is_wide and precision <= _MAX_WIDE_DIGITS else None


def _wider_time(one: Any, other: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_date(one) and kinds.is_date(other):
        return pa.date64()
    for date, instant in ((one, other), (other, one)):
        if kinds.is_date(date) and kinds.is_timestamp(instant):
            return instant if instant.tz is None else None
    if kinds.is_timestamp(one) and kinds.is_timestamp(other):
        if (one.tz is None) != (other.tz is None):
            return None
        return pa.timestamp(_finer(one, other), one.tz)
    if kinds.is_duration(one) and kinds.is_duration(other):
        return pa.duration(_finer(one, other))
    if kinds.is_time(one) and kinds.is_time(other):
        unit = _finer(one, other)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return None


def _finer(one: Any, other: Any) -> str:
    return str(max(one.unit, other.unit, key=_UNITS.index))


def _wider_text(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    if all(any(is_kind(kind) for is_kind in texts) for kind in (one, other)):
        return one
    if all(kinds.is_fixed_size_binary(kind) for kind in (one, other)):
        return pa.binary()
    of_any_length = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view)
    bytes_like = (*of_any_length, kinds.is_fixed_size_binary)
    if all(any(is_kind(kind) for is_kind in bytes_like) for kind in (one, other)):
        return other if kinds.is_fixed_size_binary(one) else one
    return None


def _wider_nested(one: Any, other: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if is_list(one) and is_list(other):
        element = _wider_field(one.value_field, other.value_field)
        if element is None:
            return None
        if kinds.is_fixed_size_list(one) and kinds.is_fixed_size_list(other):
            if one.list_size == other.list_size:
                return pa.list_(element, one.list_size)
            return pa.list_(element)
        for is_kind, make in (
            (kinds.is_list_view, pa.list_view),
            (kinds.is_large_list_view, pa.large_list_view),
        ):
            if is_kind(one) and is_kind(other):
                return make(element)
        kind = other if kinds.is_fixed_size_list(one) else one
        is_large = kinds.is_large_list(kind) or kinds.is_large_list_view(kind)
        return pa.large_list(element) if is_large else pa.list_(element)
    if kinds.is_map(one) and kinds.is_map(other):
        key = _wider_field(one.key_field, other.key_field)
        item = _wider_field(one.item_field, other.item_field)
        return None if key is None or item is None else pa.map_(key, item)
    if kinds.is_struct(one) and kinds.is_struct(other):
        return _wider_struct(one, other)
    return None


def _wider_field(one: Any, other: Any) -> Any:
    kind = widest(one.type, other.type)
    if kind is None:
        return None
    return one.with_type(kind).with_nullable(one.nullable or other.nullable)


def _wider_struct(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    names = [[field.name for field in kind] for kind in (one, other)]
    if names[0] == names[1]:
        fields = [_wider_field(*pair) for pair in zip(one, other, strict=True)]
        return None if any(field is None for field in fields) else pa.struct(fields)
    if any(len(set(each)) < len(each) for each in names):
        return None
    fields = []
    for name in dict.fromkeys((*names[0], *names[1])):
        here = [
            kind.field(kind.get_field_index(name))
            for kind in (one, other)
            if name in [f.name for f in kind]
        ]
        field = _wider_field(*here) if len(here) > 1 else here[0].with_nullable(True)
        fields.append(field)
    return None if any(field is None for field in fields) else pa.struct(fields)


def convert(array: Any, kind: Any) -> Any:  # noqa: C901, PLR0911  one for each kind of type
    """Returns the values of an Arrow array in a type that `widest` returned for its type, or in
    which other lists, texts or encodings have the same values. Raises ArrowInvalid for an instant
    that is out of its range.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if array.type == kind:
        return array
    if kinds.is_null(array.type):
        return pa.nulls(len(array), kind)
    if isinstance(kind, pa.BaseExtensionType):
        stored = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        return pa.ExtensionArray.from_storage(kind, convert(stored, kind.storage_type))
    if isinstance(array.type, pa.BaseExtensionType):
        return convert(array.storage, kind)
    if kinds.is_run_end_encoded(kind):
        plain = convert(array, kind.value_type)
        return pa.compute.run_end_encode(plain, run_end_type=kind.run_end_type)
    if kinds.is_dictionary(kind) and kinds.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(
            array.indices.cast(kind.index_type),
            convert(array.dictionary, kind.value_type),
            ordered=kind.ordered,
        )
    if kinds.is_dictionary(array.type):
        return convert(array.dictionary_decode(), kind)
    if kinds.is_run_end_encoded(array.type):
        return convert(pa.compute.run_end_decode(array), kind)
    if is_list(kind) or kinds.is_map(kind) or kinds.is_struct(kind):
        return _convert_nested(array, kind)
    if kinds.is_integer(array.type) and kinds.is_decimal(kind):
        # Arrow wants the digits of the type, not of the values
        array = array.cast(pa.decimal128(_DIGITS[array.type.bit_width], 0))
    return array.cast(kind)


def _convert_nested(array: Any, kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    missing = array.is_null()
    if kinds.is_struct(kind):
        names = [field.name for field in array.type]
        is_same = names == [field.name for field in kind]
        children = []
        for number, field in enumerate(kind):
            at = number if is_same else array.type.get_field_index(field.name)
            found = pa.nulls(len(array), field.type) if at < 0 else array.field(at)
            children.append(convert(found, field.type))
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=missing)
    offsets, parts = entries(array)
    if kinds.is_map(kind):
        keys, items = (
            convert(each, part)
            for each, part in zip(parts, (kind.key_type, kind.item_type), strict=True)
        )
        starts = pa.array(offsets, pa.int32())
        return pa.MapArray.from_arrays(starts, keys, items, type=kind, mask=missing)
    return make_lists(kind, offsets, convert(parts[0], kind.value_type), missing)
