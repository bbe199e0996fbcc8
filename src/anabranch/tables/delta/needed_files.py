"""Which files of a Delta table are needed, by their partitions and the statistics of their values.

Statistics are JSON. Bounds of texts are their beginnings, the upper one with a last character that
makes it one; those of times are cut to milliseconds. Bounds that writers are known to round or to
count otherwise are as if they were not there: decimals with more digits than a double has, NaN and
infinity, and dates before the calendars of writers agree.

Source: the Delta transaction log protocol, section "Per-file Statistics".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from anabranch.tables.live_rows.columns import Column, Scalar
from anabranch.tables.live_rows.comparable_values import (
    INTEGER_TYPES,
    UNITS,
    decimal_digits,
    seconds_since_1970,
    text_days,
    unscale,
    with_fraction,
)
from anabranch.tables.live_rows.live_table import LiveFile
from anabranch.tables.live_rows.needs import KnownValues, Needs, ValueRange

__all__ = ["is_file_needed"]

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_FIRST_SURE_DAY = "1582-10-15"
_FIRST_SURE_TIME = "1900-01-02"
"""Before it, some writers count times in the local time of places."""

_MILLISECOND_PARTS = 1000
_SURE_DIGITS = 15
_CUT_CHARS = 32
"""Texts that are shorter are whole."""

_OLD_LAST = "\ufffd"
"""What old versions of Delta Lake append to a text that is cut off; others may come after it."""

_TOP_BYTE = b"\xff"


class _Statistics(msgspec.Struct, rename="camel"):
    num_records: int | None = None
    min_values: dict[str, Any] | None = None
    max_values: dict[str, Any] | None = None
    null_count: dict[str, Any] | None = None


_DECODE = msgspec.json.Decoder(_Statistics, float_hook=Decimal).decode
_NOTHING = _Statistics()


def is_file_needed(file: LiveFile, columns: Mapping[str, Column], needs: Needs) -> bool:
    """Returns whether rows of a file may be needed, given the columns by their names."""
    read: list[_Statistics] = []

    def known_of(name: str) -> Sequence[KnownValues]:
        column = columns.get(name)
        if column is None or column.refusal or not isinstance(column.type, Scalar):
            return ()
        if name in file.partition:
            return _of_partition(column.type.sql, file.partition[name])
        if not read:
            read.append(_statistics(file.statistics))
        return (_of_statistics(column.type.sql, column.stored_name, read[0]),)

    return needs.of(known_of)


def _of_partition(sql: str, text: str | None) -> Sequence[KnownValues]:
    if text is None:
        return (ValueRange(is_null=True),)
    value = _partition_value(sql, text)
    return () if value is None else (ValueRange(value, value),)


def _partition_value(sql: str, text: str) -> int | bytes | None:
    """Returns the value of a partition, None for one whose type or form is another one."""
    if sql == "VARCHAR":
        return text.encode()
    if sql in INTEGER_TYPES and _INTEGER.fullmatch(text):
        return int(text)
    return text_days(text) if sql == "DATE" else None


def _statistics(text: str) -> _Statistics:
    try:
        return _DECODE(text) if text else _NOTHING
    except (msgspec.DecodeError, UnicodeError, RecursionError, ArithmeticError):
        return _NOTHING  # statistics are optional


def _of_statistics(sql: str, name: str, found: _Statistics) -> ValueRange:
    nulls = (found.null_count or {}).get(name)
    is_null = isinstance(nulls, int) and nulls == found.num_records
    lower = _bound(sql, (found.min_values or {}).get(name), is_upper=False)
    upper = _bound(sql, (found.max_values or {}).get(name), is_upper=True)
    if lower is not None and upper is not None and lower > upper:
        lower = upper = None
    return ValueRange(lower, upper, may_have_nan=sql in ("FLOAT", "DOUBLE"), is_null=is_null)


def _bound(sql: str, given: Any, *, is_upper: bool) -> Any:
    """Returns a bound, None for one that is not known to be one."""
    if isinstance(given, bool):
        return given if sql == "BOOLEAN" else None
    if isinstance(given, int | Decimal):
        is_whole = isinstance(given, int) and sql in INTEGER_TYPES
        return given if is_whole else _number(sql, Decimal(given), is_upper=is_upper)
    if not isinstance(given, str):
        return None
    if sql == "VARCHAR":
        return _text(given, is_upper=is_upper)
    return _time(sql, given, is_upper=is_upper)


def _number(sql: str, given: Decimal, *, is_upper: bool) -> Any:
    if sql in ("FLOAT", "DOUBLE"):
        if math.isinf(float(given)):
            return None
        # statistics from before a column was widened have the digits of single precision
        try:
            single = struct.unpack("<f", struct.pack("<f", float(given)))[0]
        except OverflowError:
            single = float(given)
        return max(single, float(given)) if is_upper else min(single, float(given))
    digits = decimal_digits(sql)
    is_sure = digits is not None and digits[0] <= _SURE_DIGITS and abs(given) < 10**_SURE_DIGITS
    return unscale(given, digits[1]) if digits is not None and is_sure else None


def _text(given: str, *, is_upper: bool) -> bytes:
    if not is_upper or len(given) < _CUT_CHARS:
        return given.encode()
    return given.removesuffix(_OLD_LAST).encode() + _TOP_BYTE


def _time(sql: str, given: str, *, is_upper: bool) -> int | None:
    if sql == "DATE":
        return text_days(given) if given >= _FIRST_SURE_DAY else None
    matched = _STAMP.fullmatch(given)
    if matched is None or sql not in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        return None
    day, time, fraction, zone = matched.groups()
    has_zone = sql == "TIMESTAMP WITH TIME ZONE"
    if day < _FIRST_SURE_TIME or bool(zone) != has_zone:
        return None
    seconds = seconds_since_1970(f"{day} {time}{'+00:00' if zone in (None, 'Z') else zone}")
    value = with_fraction(seconds, fraction or "", UNITS[sql])
    return value if value is None or not is_upper else value + _MILLISECOND_PARTS
