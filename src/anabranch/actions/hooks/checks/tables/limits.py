"""Bounds of a range in the numbers that an Arrow type stores, so that no comparison rounds.

Integers, decimals, dates, times and timestamps are integers in a unit: a lower bound is rounded up
to it, and an upper one down. Floating-point numbers are compared as such, with bounds that are
rounded inwards.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from anabranch.actions.hooks.checks.table_rules import Bounds

__all__ = ["Limits", "Misfit", "stored_limits"]

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86_400
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FRACTION = re.compile(r"[.,]([0-9]+)")
_INT32_BITS = 32
_MAX_DIGITS = 76


class Misfit(Exception):
    """A bound cannot be compared with the values of a column; the text is the reason."""


class Limits(NamedTuple):
    """Limits as scalars of Arrow, None without one, for what `stored` returns of an array; whether
    no value is within them.
    """

    stored: Callable[[Any], Any]
    low: Any
    high: Any
    is_empty: bool = False


def stored_limits(bounds: Bounds, kind: Any) -> Limits:
    """Returns the limits of the values of a type. Raises Misfit."""
    if kinds.is_null(kind):
        return Limits(lambda array: array, None, None)
    if kinds.is_floating(kind):
        return _floating(bounds)
    if kinds.is_integer(kind):
        return _whole(bounds, _number(kind), _Store(lambda array: array, *_range(kind), kind))
    if kinds.is_decimal(kind):
        return _decimal(bounds, kind)
    if kinds.is_date(kind) or kinds.is_time(kind) or kinds.is_timestamp(kind):
        return _temporal(bounds, kind)
    for bound in (bounds.min, bounds.max):
        if bound is not None:
            raise _incomparable(bound, kind)
    return Limits(lambda array: array, None, None)


class _Store(NamedTuple):
    """The integers of a type: how an array becomes one of them, the least and the greatest, and
    how one becomes a scalar: by its type, or a function.
    """

    stored: Callable[[Any], Any]
    least: int
    most: int
    kind: Any
    value: Callable[[int], Any] = lambda number: number


Bound = float | str


def _whole(bounds: Bounds, exact: Callable[[Bound], Fraction | float], store: _Store) -> Limits:
    low = None if bounds.min is None else exact(bounds.min)
    high = None if bounds.max is None else exact(bounds.max)
    if low == math.inf or high == -math.inf:
        return Limits(store.stored, None, None, is_empty=True)
    least = store.least if low is None or low == -math.inf else math.ceil(low)
    most = store.most if high is None or high == math.inf else math.floor(high)
    if least > store.most or most < store.least:
        return Limits(store.stored, None, None, is_empty=True)
    return Limits(
        store.stored,
        pa.scalar(store.value(max(least, store.least)), store.kind),
        pa.scalar(store.value(min(most, store.most)), store.kind),
    )


def _number(kind: Any, scale: int = 0) -> Callable[[Bound], Fraction | float]:
    """Returns a function of the exact value of a bound, in units of a scale."""

    def exact(bound: Bound) -> Fraction | float:
        if isinstance(bound, str):
            raise _incomparable(bound, kind)
        if isinstance(bound, float) and math.isnan(bound):
            raise Misfit(f"{bound!r} is no value of {kind}")
        if isinstance(bound, float) and math.isinf(bound):
            return bound
        # a bound is written with decimal digits
        return Fraction(Decimal(str(bound))) * Fraction(10) ** scale

    return exact


def _range(kind: Any) -> tuple[int, int]:
    bits = kind.bit_width
    if kinds.is_unsigned_integer(kind):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _decimal(bounds: Bounds, kind: Any) -> Limits:
    most = 10**kind.precision - 1
    context = Context(prec=_MAX_DIGITS)
    # Arrow compares decimals of 128 and 256 bits
    is_wide = kinds.is_decimal256(kind)
    make = pa.decimal256 if is_wide else pa.decimal128
    held = make(kind.precision, kind.scale)
    store = _Store(
        lambda array: array.cast(held),
        -most,
        most,
        held,
        lambda number: Decimal(number).scaleb(-kind.scale, context),
    )
    return _whole(bounds, _number(kind, kind.scale), store)


def _temporal(bounds: Bounds, kind: Any) -> Limits:
    integer = pa.int32() if kind.bit_width == _INT32_BITS else pa.int64()
    if kinds.is_date(kind):
        per_second = Fraction(1, _DAY_SECONDS) if kinds.is_date32(kind) else Fraction(1000)
    else:
        per_second = Fraction(_UNITS[kind.unit])
    parse = _time_of_day if kinds.is_time(kind) else _moment

    def exact(bound: Bound) -> Fraction:
        if not isinstance(bound, str):
            raise _incomparable(bound, kind)
        try:
            return parse(bound) * per_second
        except ValueError as error:
            raise Misfit(f"{bound!r} is no value of {kind}: {error}") from error

    return _whole(
        bounds, exact, _Store(lambda array: array.view(integer), *_range(integer), integer)
    )


def _moment(text: str) -> Fraction:
    """Returns a date or time as seconds since 1970; one without a zone is in UTC. Raises
    ValueError.
    """
    moment = dt.datetime.fromisoformat(_FRACTION.sub("", text))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return Fraction((moment - _EPOCH) // dt.timedelta(seconds=1)) + _fraction(text)


def _time_of_day(text: str) -> Fraction:
    """Returns a time as seconds since midnight. Raises ValueError."""
    time = dt.time.fromisoformat(_FRACTION.sub("", text))
    if time.tzinfo is not None:
        raise ValueError("it has a zone")
    return time.hour * 3600 + time.minute * 60 + time.second + _fraction(text)


def _fraction(text: str) -> Fraction:
    match = _FRACTION.search(text)
    return Fraction(0) if match is None else Fraction(int(match[1]), 10 ** len(match[1]))


def _floating(bounds: Bounds) -> Limits:
    low, high = (
        None if bound is None else _double(bound, rounds_up=rounds_up)
        for bound, rounds_up in ((bounds.min, True), (bounds.max, False))
    )
    return Limits(
        lambda array: (array.cast(pa.float32()) if kinds.is_float16(array.type) else array).cast(
            pa.float64()
        ),
        None if low is None else pa.scalar(low, pa.float64()),
        None if high is None else pa.scalar(high, pa.float64()),
    )


def _double(bound: Bound, *, rounds_up: bool) -> float:
    """Returns a bound as a floating-point number: itself, or the next one within the range."""
    if isinstance(bound, str):
        raise _incomparable(bound, pa.float64())
    try:
        number = float(bound)
    except OverflowError:
        number = math.inf if bound > 0 else -math.inf
    if number < bound and rounds_up:
        return math.nextafter(number, math.inf)
    if number > bound and not rounds_up:
        return math.nextafter(number, -math.inf)
    return number


def _incomparable(bound: Bound, kind: Any) -> Misfit:
    return Misfit(f"{bound!r} cannot be compared with values of {kind}")
