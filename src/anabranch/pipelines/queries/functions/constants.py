"""Constants as DuckDB's plans show them, as values that `live_rows.needs` compares."""

from __future__ import annotations

import re
import struct
import uuid
from decimal import Decimal
from typing import Any

from anabranch.tables.live_rows.columns import ColumnType, Scalar
from anabranch.tables.live_rows.comparable_values import (
    INTEGER_TYPES,
    UNITS,
    decimal_digits,
    seconds_since_1970,
    text_days,
    unscale,
    with_fraction,
)

__all__ = ["constant"]

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_DECIMAL = re.compile(r"-?\d+(?:\.(\d+))?")
_TEXT = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)
_DATE = re.compile(r"'(\d{4}-\d\d-\d\d)'::DATE")
_FRACTION = r"(?:\.(\d{1,9}))?"
_STAMP = rf"'(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d){_FRACTION}"
_STAMPS = {
    "TIMESTAMP": re.compile(rf"{_STAMP}'::TIMESTAMP"),
    "TIMESTAMP_NS": re.compile(rf"{_STAMP}'::TIMESTAMP_NS"),
    "TIMESTAMP WITH TIME ZONE": re.compile(rf"{_STAMP}\+00'::TIMESTAMP WITH TIME ZONE"),
}
_TIME = re.compile(rf"'(\d\d):(\d\d):(\d\d){_FRACTION}'::TIME")
_UUID = re.compile(r"'([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'::UUID")
_BLOB = re.compile(r"'((?:[\x20-\x26\x28-\x5b\x5d-\x7e]|\\x[0-9A-F]{2})*)'::BLOB")
_ESCAPED = re.compile(rb"\\x([0-9A-F]{2})")


def constant(kind: ColumnType, text: str) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the value of a constant of a column's type, None for one in an unknown form."""
    if not isinstance(kind, Scalar):
        return None
    sql = kind.sql
    if sql in INTEGER_TYPES:
        return int(text) if _INTEGER.fullmatch(text) else None
    if sql == "BOOLEAN":
        return {"true": True, "false": False}.get(text)
    if sql in ("FLOAT", "DOUBLE"):
        return _float(text, is_double=sql == "DOUBLE") if _FLOAT.fullmatch(text) else None
    if sql in ("VARCHAR", "BLOB", "UUID"):
        return _bytes(sql, text)
    if sql == "DATE":
        matched = _DATE.fullmatch(text)
        return text_days(matched[1]) if matched else None
    if sql == "TIME":
        matched = _TIME.fullmatch(text)
        return _time(*matched.groups()) if matched else None
    if sql in _STAMPS:
        matched = _STAMPS[sql].fullmatch(text)
        return _stamp(matched[1], matched[2], UNITS[sql]) if matched else None
    decimal = decimal_digits(sql)
    return _unscale(text, decimal[1]) if decimal else None


def _bytes(sql: str, text: str) -> bytes | None:
    form = {"VARCHAR": _TEXT, "BLOB": _BLOB, "UUID": _UUID}[sql]
    matched = form.fullmatch(text)
    if matched is None:
        return None
    if sql == "UUID":
        return uuid.UUID(matched[1]).bytes
    if sql == "BLOB":
        return _ESCAPED.sub(lambda each: bytes.fromhex(each[1].decode()), matched[1].encode())
    return matched[1].replace("''", "'").encode()


def _float(text: str, *, is_double: bool) -> float | None:
    value = float(text)
    if is_double:
        return value
    try:
        shortened: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None
    return shortened


def _time(hours: str, minutes: str, seconds: str, fraction: str | None) -> int | None:
    since = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return with_fraction(since, fraction or "", UNITS["TIME"])


def _stamp(seconds: str, fraction: str | None, units: int) -> int | None:
    return with_fraction(seconds_since_1970(f"{seconds}+00:00"), fraction or "", units)


def _unscale(text: str, scale: int) -> int | None:
    matched = _DECIMAL.fullmatch(text)
    if matched is None or len(matched[1] or "") != scale:
        return None
    return unscale(Decimal(text), scale)
