"""Constants as DuckDB's plans show them, as values that `live_rows.needs` compares."""

from __future__ import annotations

import datetime as dt
import re
import struct
from typing import Any

from anabranch.tables.live_rows.columns import ColumnType, Scalar

__all__ = ["constant"]

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_DECIMAL = re.compile(r"(-?\d+)(?:\.(\d+))?")
_DECIMAL_TYPE = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_TEXT = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)
_DATE = re.compile(r"'(\d{4}-\d\d-\d\d)'::DATE")
_TIME = r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?"
_TIMES = {
    "TIMESTAMP": re.compile(rf"{_TIME}'::TIMESTAMP"),
    "TIMESTAMP_NS": re.compile(rf"{_TIME}'::TIMESTAMP_NS"),
    "TIMESTAMP WITH TIME ZONE": re.compile(rf"{_TIME}\+00'::TIMESTAMP WITH TIME ZONE"),
}
_UNITS = {
    "TIMESTAMP": 1_000_000,
    "TIMESTAMP_NS": 1_000_000_000,
    "TIMESTAMP WITH TIME ZONE": 1_000_000,
}
"""In how many parts of a second the values of types are counted."""
_INTEGERS = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
_EPOCH = dt.date(1970, 1, 1)


def constant(kind: ColumnType, text: str) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the value of a constant of a column's type, None for one in an unknown form."""
    if not isinstance(kind, Scalar):
        return None
    sql = kind.sql
    if sql in _INTEGERS:
        return int(text) if _INTEGER.fullmatch(text) else None
    if sql == "BOOLEAN":
        return {"true": True, "false": False}.get(text)
    if sql in ("FLOAT", "DOUBLE"):
        return _float(text, is_double=sql == "DOUBLE") if _FLOAT.fullmatch(text) else None
    if sql == "VARCHAR":
        matched = _TEXT.fullmatch(text)
        return matched[1].replace("''", "'").encode() if matched else None
    if sql == "DATE":
        matched = _DATE.fullmatch(text)
        return (dt.date.fromisoformat(matched[1]) - _EPOCH).days if matched else None
    if sql in _TIMES:
        matched = _TIMES[sql].fullmatch(text)
        return _time(matched[1], matched[2] or "", _UNITS[sql]) if matched else None
    decimal = _DECIMAL_TYPE.fullmatch(sql)
    return _unscaled(text, int(decimal[2])) if decimal else None


def _float(text: str, *, is_double: bool) -> float | None:
    value = float(text)
    if is_double:
        return value
    try:
        shortened: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None
    return shortened


def _time(seconds: str, fraction: str, units: int) -> int | None:
    digits = len(str(units)) - 1
    if len(fraction) > digits:
        return None
    since = dt.datetime.fromisoformat(f"{seconds}+00:00") - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since.days * 86_400 + since.seconds) * units + int(fraction.ljust(digits, "0"))


def _unscaled(text: str, scale: int) -> int | None:
    matched = _DECIMAL.fullmatch(text)
    if matched is None or len(matched[2] or "") != scale:
        return None
    return int(matched[1] + (matched[2] or ""))
