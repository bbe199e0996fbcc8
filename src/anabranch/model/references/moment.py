"""Moments in reference expressions: what stands between the braces of `main@{2 hours ago}`.

    moment = "now" | "yesterday" | count unit "ago" | date [ time ] | "op:" id
    unit   = second | minute | hour | day | week | month | year, also in the plural
    date   = YYYY-MM-DD        time = (" " | "T") HH:MM[:SS] [ "Z" | ("+" | "-") HH:MM ]

Spaces may be written as dots, which need no quotes in a shell: `main@{2.hours.ago}`. A date without
a time is its first moment; times without a zone are UTC. A month ago is the same day of the month
before, or its last one. These are the forms of git's gitrevisions page that name a moment exactly;
others, such as `last friday`, are refused.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

import msgspec

from anabranch.errors import Invalid

__all__ = ["AtOperation", "Moment", "parse_moment"]

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_AGO = re.compile(r"(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago", re.ASCII)
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?) ?(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE | re.ASCII,
)
_OPERATION = re.compile(r"op:([0-9a-f]{4,19})")
_MAX_SHOWN = 60
_HINT = (
    "Write `yesterday`, `2 hours ago`, `3 days ago`, a date such as `2026-11-28`, a time such as "
    "`2026-11-28 12:00`, in UTC unless it ends with a zone, or `op:` and an operation's id."
)


class AtOperation(msgspec.Struct, frozen=True):
    """The moment right after the operation whose id begins so."""

    operation_id: str


Moment = float | AtOperation
"""Seconds since 1970, or an operation."""


def parse_moment(text: str, now: float) -> Moment:
    """Returns the moment that a text names; `now` is in seconds since 1970.

    Raises Invalid (kind invalid_moment) for another text.
    """
    operation = _OPERATION.fullmatch(text)
    if operation is not None:
        return AtOperation(operation[1])
    words = " ".join(re.split(r"[ .]+", text.strip(" "))).lower()
    if words == "now":
        return now
    if words == "yesterday":
        return now - 86_400
    try:
        ago = _AGO.fullmatch(words)
        if ago is not None:
            return _ago(int(ago[1]), ago[2], now)
        date = _DATE.fullmatch(text.strip(" "))
        if date is not None:
            zone = (date[3] or "+00:00").upper().replace("Z", "+00:00")
            return datetime.fromisoformat(f"{date[1]}T{date[2] or '00:00'}{zone}").timestamp()
    except (ValueError, OverflowError):
        pass  # there is no such day, or it is too long ago
    shown = repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…")
    raise Invalid(f"{shown} is no moment", kind="invalid_moment", hint=_HINT)


def _ago(count: int, unit: str, now: float) -> float:
    if unit in _UNITS:
        return now - count * _UNITS[unit]
    then = datetime.fromtimestamp(now, UTC)
    months = then.year * 12 + then.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    day = min(then.day, calendar.monthrange(year, month + 1)[1])
    return then.replace(year=year, month=month + 1, day=day).timestamp()
