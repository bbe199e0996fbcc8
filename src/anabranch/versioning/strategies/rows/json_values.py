"""Values of tables as JSON values.

JSON has neither decimals nor dates, bytes and infinite numbers: decimals become text, dates, times
and intervals become text as in ISO 8601, bytes become base64, NaN and infinite numbers "NaN",
"Infinity" and "-Infinity". The keys of maps become text.
"""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import Any

__all__ = ["json_value"]


def json_value(scalar: Any) -> Any:
    """Returns the JSON value of an Arrow scalar."""
    import pyarrow.types as kinds  # noqa: PLC0415  an optional library

    if not scalar.is_valid:
        return None
    kind = scalar.type
    if kinds.is_nested(kind):
        return _nested_value(scalar)
    if kinds.is_temporal(kind) and not (kinds.is_duration(kind) or kinds.is_interval(kind)):
        # not by Python's types, which have fewer years and no nanoseconds
        text: str = scalar.cast("string").as_py()
        return text.replace(" ", "T").replace("+0000", "Z")
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
