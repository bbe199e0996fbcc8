"""Values as numbers: the form in which `needs` compares them, and in which metadata have bounds.

Dates are days since 1970, times and timestamps are parts of a second since midnight or 1970,
decimals have no point.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

__all__ = [
    "INTEGER_TYPES",
    "UNITS",
    "date_days",
    "decimal_digits",
    "seconds_since_1970",
    "text_days",
    "unscale",
    "with_fraction",
]

INTEGER_TYPES = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
"""SQL types of integers."""

UNITS = {
    "TIME": 1_000_000,
    "TIMESTAMP": 1_000_000,
    "TIMESTAMP_NS": 1_000_000_000,
    "TIMESTAMP WITH TIME ZONE": 1_000_000,
}
"""In how many parts of a second the values of SQL types are counted."""

_DECIMAL_TYPE = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = dt.date(1970, 1, 1)


def date_days(date: dt.date) -> int:
    """Returns the days of a date since 1970."""
    return (date - _EPOCH).days


def text_days(text: str) -> int | None:
    """Returns the days since 1970 of a date in ISO 8601, None for other texts."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date_days(dt.date.fromisoformat(text))
    except ValueError:
        return None


def seconds_since_1970(text: str) -> int | None:
    """Returns the seconds since 1970 of a timestamp in ISO 8601 without a fraction, and with a
    zone; None for other texts.
    """
    try:
        since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if since.microseconds else since.days * 86_400 + since.seconds


def with_fraction(seconds: int | None, fraction: str, units: int) -> int | None:
    """Returns seconds with the digits of a fraction in parts of a second, None for more digits than
    these have.
    """
    digits = len(str(units)) - 1
    if seconds is None or len(fraction) > digits:
        return None
    return seconds * units + int(fraction.ljust(digits, "0"))


def decimal_digits(sql: str) -> tuple[int, int] | None:
    """Returns the precision and scale of a decimal type, None for others."""
    matched = _DECIMAL_TYPE.fullmatch(sql)
    return (int(matched[1]), int(matched[2])) if matched else None


def unscale(number: Decimal, scale: int) -> int | None:
    """Returns a number without its point, None if it has more places than `scale`."""
    if not number.is_finite():
        return None
    sign, digits, exponent = number.as_tuple()
    places = int(exponent) + scale
    whole = int("".join(map(str, digits)))
    if -places > len(digits):
        return None if whole else 0
    if places < 0:
        whole, rest = divmod(whole, 10**-places)
        if rest:
            return None
        places = 0
    found: int = (-whole if sign else whole) * 10**places
    return found
