"""The type that holds the values of two types, for columns of several files."""

from __future__ import annotations

from typing import Any

__all__ = ["common_type"]

_MAX_DIGITS = 38
_DOUBLE_BITS = 53
_UNITS = ("s", "ms", "us", "ns")


def common_type(one: Any, other: Any) -> Any:
    """Returns the Arrow type that holds each value of two types exactly, None if there is none."""
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    if one == other or kinds.is_null(one) or kinds.is_null(other):
        return other if kinds.is_null(one) else one
    if kinds.is_timestamp(one) and kinds.is_timestamp(other) and one.tz == other.tz:
        # seconds as nanoseconds may be too many
        units = sorted((one.unit, other.unit), key=_UNITS.index)
        return None if units == ["s", "ns"] else pa.timestamp(units[1], one.tz)
    if kinds.is_floating(one) and kinds.is_floating(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    if _is_number(one) and _is_number(other):
        return _number(one, other)
    return _nested(one, other)


def _nested(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_struct(one) and kinds.is_struct(other):
        return _struct(one, other)
    if kinds.is_large_list(one) and kinds.is_large_list(other):
        item = common_type(one.value_type, other.value_type)
        return None if item is None else pa.large_list(item)
    return None


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _number(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_floating(one) or kinds.is_floating(other):
        exact = other if kinds.is_floating(one) else one
        is_small = kinds.is_integer(exact) and exact.bit_width < _DOUBLE_BITS
        return pa.float64() if is_small else None
    if kinds.is_integer(one) and kinds.is_integer(other):
        signed = kinds.is_signed_integer(one) == kinds.is_signed_integer(other)
        if signed:
            return max(one, other, key=lambda kind: kind.bit_width)
        if max(one.bit_width, other.bit_width) <= pa.int32().bit_width:
            return pa.int64()
    (whole, scale), (other_whole, other_scale) = _digits(one), _digits(other)
    scale = max(scale, other_scale)
    precision = max(whole, other_whole) + scale
    return pa.decimal128(precision, scale) if precision <= _MAX_DIGITS else None


def _digits(kind: Any) -> tuple[int, int]:
    """Returns how many digits a number has before and after the point."""
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_decimal(kind):
        return kind.precision - kind.scale, max(kind.scale, 0)
    return len(str(2**kind.bit_width)), 0


def _struct(one: Any, other: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    fields = {field.name: field.type for field in one}
    if len(fields) < one.num_fields:
        return None
    for field in other:
        kind = common_type(fields.get(field.name, pa.null()), field.type)
        if kind is None:
            return None
        fields[field.name] = kind
    return pa.struct(list(fields.items()))
