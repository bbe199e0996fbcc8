"""Values of tables as JSON values.

JSON has neither decimals nor dates, bytes and infinite numbers: decimals become text, dates, times,
durations and intervals become text as in ISO 8601, bytes become base64, NaN and infinite numbers
"NaN", "Infinity" and "-Infinity". The keys of maps become text.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal, localcontext
from typing import Any

from anabranch.tables.column_table import ByteForm

__all__ = ["comparable_text", "json_value", "shown_bytes"]

_MAX_DIGITS = 1100
"""The digits of the longest number: a double has at most 1075."""

_EXPONENTS = {"s": 0, "ms": -3, "us": -6, "ns": -9}


def json_value(scalar: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the JSON value of an Arrow scalar."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415  an optional library

    if not scalar.is_valid:
        return None
    kind = scalar.type
    if kinds.is_dictionary(kind):
        return json_value(scalar.value)
    if isinstance(kind, pa.ExtensionType) and not isinstance(kind, pa.UuidType | pa.Bool8Type):
        return json_value(scalar.value)
    if kinds.is_nested(kind):
        return _nested_value(scalar)
    if kinds.is_temporal(kind) and not (kinds.is_duration(kind) or kinds.is_interval(kind)):
        # not by Python's types, which have fewer years and no nanoseconds
        text: str = scalar.cast("string").as_py()
        return text.replace(" ", "T").replace("+0000", "Z")
    if kinds.is_duration(kind):
        return f"PT{Decimal(scalar.value).scaleb(_EXPONENTS[kind.unit]).normalize():f}S"
    value = scalar.as_py()
    if kinds.is_interval(kind):
        seconds = Decimal(value.nanoseconds).scaleb(-9).normalize()
        value = f"P{value.months}M{value.days}DT{seconds:f}S"
    if isinstance(value, float) and not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode()
    return value if isinstance(value, bool | int | float | str) else str(value)


def _nested_value(scalar: Any) -> Any:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_struct(scalar.type):
        return {name: json_value(value) for name, value in scalar.items()}
    if kinds.is_map(scalar.type):
        # the scalar of a map is a list of structs
        return {str(json_value(each["key"])): json_value(each["value"]) for each in scalar.values}
    return [json_value(each) for each in scalar.values]


def shown_bytes(value: bytes | str | None, form: ByteForm) -> Any:
    """Returns the JSON value of bytes, or a text, of a column in another form."""
    if value is None or isinstance(value, str):
        return value
    if form == "text":
        return value.decode("utf-8", "backslashreplace")
    months, days, milliseconds = struct.unpack("<III", value)
    seconds = Decimal(milliseconds).scaleb(-3).normalize()
    return f"P{months}M{days}DT{seconds:f}S"


def comparable_text(array: Any) -> Any:
    """Returns the values of an Arrow array as texts that are equal for equal values, also of
    another type: 1 and 1.0 are equal, and 1 and "1" are not. null stays null.
    """
    import pyarrow as pa  # noqa: PLC0415

    return pa.array([_text(scalar) for scalar in array], pa.string())


def _text(scalar: Any) -> str | None:
    import pyarrow.types as kinds  # noqa: PLC0415

    if not scalar.is_valid:
        return None
    kind = scalar.type
    if kinds.is_integer(kind) or kinds.is_decimal(kind) or kinds.is_floating(kind):
        with localcontext(prec=_MAX_DIGITS):
            number = Decimal(scalar.as_py()).normalize()
        return str(number or Decimal(0))
    return json.dumps(json_value(scalar))
