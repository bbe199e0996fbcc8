"""Rules about single cells: no nulls in columns, values within bounds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.actions.hooks.checks.table_rules import Bounds
from anabranch.dependency_errors import reason_of

__all__ = ["Misfit", "RangeRule", "first_null"]


class Misfit(Exception):
    """A bound cannot be compared with the values of a column; the text is the reason."""


def first_null(column: Any) -> int | None:
    """Returns the position of the first null in an array, None without one."""
    return _first(pc.is_null(column)) if column.null_count else None


class RangeRule:
    """Bounds for a column of a type. Nulls are within; NaN and texts that are no numbers, where
    the bounds are numbers, are not. Raises Misfit.
    """

    def __init__(self, bounds: Bounds, column_type: Any) -> None:
        self._type = column_type
        is_text = pa.types.is_string(column_type) or pa.types.is_large_string(column_type)
        given = [bound for bound in (bounds.min, bounds.max) if bound is not None]
        self._parses = is_text and not isinstance(given[0], str)
        self._low = None if bounds.min is None else self._scalar(bounds.min)
        self._high = None if bounds.max is None else self._scalar(bounds.max)

    def first_outside(self, column: Any) -> int | None:
        """Returns the position of the first value outside the bounds, None without one."""
        values = column
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        numbers = _numbers(values) if self._parses else values
        if pa.types.is_uint64(numbers.type):
            numbers = numbers.cast(pa.decimal128(38, 0))
        inside = pa.array([True] * len(values)) if len(values) == 0 else pc.is_valid(numbers)
        if self._low is not None:
            inside = pc.and_(inside, pc.greater_equal(numbers, self._low))
        if self._high is not None:
            inside = pc.and_(inside, pc.less_equal(numbers, self._high))
        outside = pc.invert(pc.fill_null(inside, fill_value=False))
        return _first(pc.and_(outside, pc.is_valid(values)))

    def _scalar(self, bound: float | str) -> Any:
        kind = self._type.value_type if pa.types.is_dictionary(self._type) else self._type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        try:
            if is_text and isinstance(bound, str):
                return pa.scalar(bound, kind)
            if isinstance(bound, str):
                if pa.types.is_temporal(kind):
                    return _moment(bound, kind)
            elif self._parses or pa.types.is_floating(kind):
                return pa.scalar(float(bound), pa.float64())
            elif pa.types.is_integer(kind) or pa.types.is_decimal(kind):
                return pa.scalar(Decimal(str(bound)))
        except (ValueError, pa.ArrowException) as error:
            raise Misfit(f"{bound!r} is no value of {kind}: {reason_of(error)}") from error
        raise Misfit(f"{bound!r} cannot be compared with values of {kind}")


def _moment(bound: str, kind: Any) -> Any:
    """Returns a date, time or timestamp; one without a zone is UTC where the column has zones."""
    if pa.types.is_time(kind):
        return pa.scalar(dt.time.fromisoformat(bound), kind)
    moment = dt.datetime.fromisoformat(bound)
    if pa.types.is_date(kind):
        return pa.scalar(moment.date(), kind)
    has_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    if has_zone and moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    elif not has_zone and moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return pa.scalar(moment, kind)


def _numbers(texts: Any) -> Any:
    """Returns texts as numbers, null for those that are none."""
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return pa.array([_number(text) for text in texts.to_pylist()], pa.float64())


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _first(mask: Any) -> int | None:
    position = pc.index(mask, pa.scalar(value=True)).as_py()
    return None if position < 0 else int(position)
