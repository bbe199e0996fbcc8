"""Texts of values by which columns are compared whose types clash."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from typing import Any

from anabranch.tables.json_values import json_column

__all__ = ["comparable_text"]

_MAX_DIGITS = 1100
"""The digits of the longest number: a double has at most 1075."""


def comparable_text(array: Any) -> Any:
    """Returns the values of an Arrow array as texts that are equal for equal values, also of
    another type: 1 and 1.0 are equal, and 1 and "1" are not. null stays null.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library

    return pa.array([_text(scalar) if scalar.is_valid else None for scalar in array], pa.string())


def _text(scalar: Any) -> str:  # noqa: PLR0911  one for each kind of type
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if not scalar.is_valid:
        return "null"
    kind = scalar.type
    if kinds.is_dictionary(kind):
        return _text(scalar.value)
    if kinds.is_integer(kind) or kinds.is_decimal(kind) or kinds.is_floating(kind):
        with localcontext(prec=_MAX_DIGITS):
            number = Decimal(scalar.as_py()).normalize()
        return str(number or Decimal(0))
    if kinds.is_struct(kind):
        return _join("{}", [f"{json.dumps(name)}:{_text(each)}" for name, each in scalar.items()])
    if kinds.is_map(kind):  # the scalar of a map is a list of structs
        entries = scalar.values or ()
        return _join("{}", [f"{_text(each['key'])}:{_text(each['value'])}" for each in entries])
    if kinds.is_nested(kind) and not kinds.is_union(kind):
        return _join("[]", [_text(each) for each in scalar.values])
    (value,) = json_column(pa.array([scalar], kind), cut=False)
    return json.dumps(value)


def _join(ends: str, parts: list[str]) -> str:
    return ends[0] + ",".join(parts) + ends[1]
