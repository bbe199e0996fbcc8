"""What values of Iceberg partitions say of the values of the columns that they are made of.

A partition has the year, month, day or hour of its values, the beginning of texts, the multiple
below numbers, or a bucket. All but the last keep the order of values, so their bounds are bounds of
the values.

Source: the Iceberg table specification, "Partition Transforms".
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from anabranch.tables.iceberg.buckets import BucketRange, hashed_form
from anabranch.tables.live_rows.comparable_values import INTEGER_TYPES, UNITS, date_days
from anabranch.tables.live_rows.needs import KnownValues, ValueRange

__all__ = ["ORDINALS", "known_values", "transform_result"]

ORDINALS = frozenset(("year", "month", "day", "hour"))
"""Transforms whose results are numbers of years, months, days and hours since 1970."""

_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d{1,9})\]")
_DAY_SECONDS = 86_400
_HOUR_SECONDS = 3600
_FIRST_YEAR = 1970
_MONTHS = 12
_TOP_BYTE = b"\xff"


def transform_result(transform: str, sql: str) -> str:
    """Returns the SQL type of a transform's results for a column, "" for an unknown one."""
    if transform == "identity":
        return sql
    if transform in ORDINALS:
        is_known = (sql in UNITS and sql != "TIME") or (sql == "DATE" and transform != "hour")
        return "INTEGER" if is_known else ""
    matched = _WITH_WIDTH.fullmatch(transform)
    if matched is None or not int(matched[2]):
        return ""
    if matched[1] == "bucket":
        return "INTEGER" if hashed_form(sql) else ""
    is_cut = sql in ("VARCHAR", "BLOB") or sql in INTEGER_TYPES or sql.startswith("DECIMAL")
    return sql if is_cut else ""


def known_values(transform: str, sql: str, lower: Any, upper: Any, *, is_null: bool) -> KnownValues:
    """Returns what bounds of a known transform's results say of the values, None being unknown."""
    if is_null:
        return ValueRange(is_null=True)
    matched = _WITH_WIDTH.fullmatch(transform)
    if matched is not None and matched[1] == "bucket":
        return BucketRange(int(matched[2]), hashed_form(sql), lower, upper)
    if transform in ORDINALS:
        # values before 1970 are one too high where old versions of Iceberg rounded towards it
        least = None if lower is None else _start(transform, sql, lower - (lower <= 0))
        next_start = None if upper is None else _start(transform, sql, upper + 1)
        return ValueRange(least, None if next_start is None else next_start - 1)
    if matched is not None and upper is not None:
        upper = _last(sql, upper, int(matched[2]))
    return ValueRange(lower, upper)


def _last(sql: str, cut: Any, width: int) -> Any:
    """Returns a bound of the values that are cut to one, None if there is none."""
    if sql not in ("VARCHAR", "BLOB"):
        return cut + width - 1
    if len(cut.decode(errors="replace") if sql == "VARCHAR" else cut) < width:
        return cut  # it is whole
    if sql == "VARCHAR":
        return cut + _TOP_BYTE  # no byte of UTF-8 is the top one
    kept = cut.rstrip(_TOP_BYTE)
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _start(transform: str, sql: str, ordinal: int) -> int | None:
    """Returns the first value of a year, month, day or hour, None for one far away."""
    if transform == "hour":
        return ordinal * _HOUR_SECONDS * UNITS[sql]
    days = ordinal
    if transform != "day":
        year, month = divmod(ordinal, _MONTHS) if transform == "month" else (ordinal, 0)
        year += _FIRST_YEAR
        if not dt.MINYEAR <= year <= dt.MAXYEAR:
            return None
        days = date_days(dt.date(year, month + 1, 1))
    return days if sql == "DATE" else days * _DAY_SECONDS * UNITS[sql]
