"""Rules about single cells: no nulls in columns, values within bounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from anabranch.actions.hooks.checks.table_rules import Bounds
from anabranch.actions.hooks.checks.tables.limits import Limits, Misfit, stored_limits
from anabranch.tables.json_values import decode

__all__ = ["RangeRule", "first_null"]

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_INFINITE = re.compile(r"\s*[+-]?inf(?:inity)?\s*", re.IGNORECASE)


def first_null(column: Any) -> int | None:
    """Returns the position of the first null in an array, None without one."""
    values = _plain(column)
    if kinds.is_union(values.type):
        nulls = [scalar.as_py() is None for scalar in values]
        return nulls.index(True) if True in nulls else None
    return _first(pc.is_null(values)) if values.null_count else None


class RangeRule:
    """Bounds for a column of a type, with which the values of the file are compared exactly. Nulls
    are within; NaN and texts that are no numbers, where the bounds are numbers, are not. Raises
    Misfit.
    """

    def __init__(self, bounds: Bounds, column_type: Any) -> None:
        kind = _plain(pa.nulls(0, column_type)).type
        given = [bound for bound in (bounds.min, bounds.max) if bound is not None]
        if _is_text(kind):
            is_text = isinstance(given[0], str)
            within = _text_within(bounds) if is_text else _number_text_within(bounds)
        else:
            within = functools.partial(_within, stored_limits(bounds, kind))
        self._within: Callable[[Any], Any] = within

    def first_outside(self, column: Any) -> int | None:
        """Returns the position of the first value outside the bounds, None without one."""
        values = _plain(column)
        if not len(values) or kinds.is_null(values.type):
            return None
        outside = pc.invert(pc.fill_null(self._within(values), fill_value=False))
        return _first(pc.and_(outside, pc.is_valid(values)))


def _plain(column: Any) -> Any:
    """Returns an array without dictionary or run-end encoding, whose nulls Arrow does not see."""
    kind = column.type
    while kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        column = decode(column)
        kind = column.type
    return column


def _is_text(kind: Any) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _within(limits: Limits, values: Any) -> Any:
    """Returns which values are within limits, null or false for those that are not."""
    stored = limits.stored(values)
    return _between(stored, limits.low, limits.high) if not limits.is_empty else _none(stored)


def _between(values: Any, low: Any, high: Any) -> Any:
    inside = pa.repeat(pa.scalar(value=True), len(values))
    if low is not None:
        inside = pc.and_(inside, pc.greater_equal(values, low))
    if high is not None:
        inside = pc.and_(inside, pc.less_equal(values, high))
    return inside


def _none(values: Any) -> Any:
    return pa.repeat(pa.scalar(value=False), len(values))


def _text_within(bounds: Bounds) -> Callable[[Any], Any]:
    low, high = (
        None if bound is None else pa.scalar(bound, pa.large_string())
        for bound in (bounds.min, bounds.max)
    )
    return lambda texts: _between(texts.cast(pa.large_string()), low, high)


def _number_text_within(bounds: Bounds) -> Callable[[Any], Any]:
    low, high = (
        None if bound is None else Decimal(str(bound)) for bound in (bounds.min, bounds.max)
    )
    if any(bound is not None and bound.is_nan() for bound in (low, high)):
        raise Misfit("a bound is no number")

    def is_within(text: str | None) -> bool | None:
        if text is None or not (_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text)):
            return None
        try:
            number = Decimal(text.strip())
        except InvalidOperation:  # an exponent of 19 digits
            number = Decimal(float(text))
        return (low is None or low <= number) and (high is None or number <= high)

    def within(texts: Any) -> Any:
        try:
            numbers = texts.cast(pa.string()).cast(pa.float64())
        except pa.ArrowInvalid:
            return pa.array(map(is_within, texts.to_pylist()), pa.bool_())
        # rounding keeps the order: what is not rounded to a bound is on the side that it was on
        ends = [float(bound) for bound in (low, high) if bound is not None]
        doubtful = pc.is_in(numbers, pa.array(ends, pa.float64()))
        inside = _between(
            numbers,
            None if low is None else pa.scalar(float(low)),
            None if high is None else pa.scalar(float(high)),
        )
        if not pc.any(doubtful).as_py():
            return inside
        exact = pa.array(map(is_within, texts.filter(doubtful).to_pylist()), pa.bool_())
        return pc.replace_with_mask(inside, doubtful, exact)

    return within


def _first(mask: Any) -> int | None:
    position = pc.index(mask, pa.scalar(value=True)).as_py()
    return None if position < 0 else int(position)
