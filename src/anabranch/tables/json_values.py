r"""The JSON form of the values of tables, which loses nothing.

| Value | JSON |
|---|---|
| null, truth values, texts | as they are |
| integers up to 2^53 | numbers |
| larger integers, decimals | text: their digits |
| floating-point numbers | numbers; "NaN", "Infinity", "-Infinity" |
| bytes | text: hexadecimal digits after `\x` |
| dates, times, timestamps | text: `2024-05-06 07:08:09`; 6 or 9 digits of the second, if not 0 |
| infinite dates and timestamps | "infinity", "-infinity" |
| timestamps with a zone | likewise, in UTC: `2024-05-06 07:08:09+00:00` |
| durations, intervals | text as in ISO 8601: `P1M2DT3.5S` |
| UUIDs | text |
| lists; structs; maps | arrays; objects; objects whose names are the texts of the keys |
| maps and structs with a name twice | arrays of [name, value] |

What is too long for a page is cut off, which an ellipsis at the end says.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

__all__ = [
    "MAX_ITEMS",
    "MAX_TEXT_CHARS",
    "date_text",
    "decode",
    "infinite_count",
    "interval_text",
    "json_column",
    "moment_text",
    "text_column",
    "time_text",
    "to_json",
    "whole_numbers",
]

MAX_TEXT_CHARS = 4096
MAX_ITEMS = 1000
"""The most characters of a text, and elements of a list or map, on a page."""

_MAX_EXACT = 2**53
_ELLIPSIS = "…"
_DAY_SECONDS = 86_400
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_INT32_BITS = 32
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
"""Days and years after which the Gregorian calendar is the same."""


def to_json(value: Any, *, cut: bool = True) -> Any:
    """Returns a value of Python or DuckDB in its JSON form. `cut` cuts off what is too long."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return _object(list(value.items()), cut=cut)
    if isinstance(value, tuple) and type(value).__name__ == "MonthDayNano":
        return interval_text(*value)
    if isinstance(value, list | tuple):
        kept = value[:MAX_ITEMS] if cut else value
        return [to_json(item, cut=cut) for item in kept]
    return _shorten(_text(value), cut=cut)


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "\\x" + bytes(value).hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.timedelta):
        microseconds = value // dt.timedelta(microseconds=1)
        return interval_text(0, 0, microseconds * 1000)
    return str(value)


def _number(value: float) -> Any:
    if isinstance(value, int):
        return value if -_MAX_EXACT <= value <= _MAX_EXACT else str(value)
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _object(pairs: list[tuple[Any, Any]], *, cut: bool) -> Any:
    kept = pairs[:MAX_ITEMS] if cut else pairs
    names = [name if isinstance(name, str) else _name(name) for name, _ in kept]
    values = [to_json(value, cut=cut) for _, value in kept]
    return _struct_value(names, values)


def _struct_value(names: Sequence[str], values: Sequence[Any]) -> Any:
    pairs = list(zip(names, values, strict=True))
    return dict(pairs) if len(set(names)) == len(names) else [list(pair) for pair in pairs]


def _name(key: Any) -> str:
    value = to_json(key, cut=False)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shorten(text: str, *, cut: bool) -> str:
    return text[:MAX_TEXT_CHARS] + _ELLIPSIS if cut and len(text) > MAX_TEXT_CHARS else text


def interval_text(months: int, days: int, nanoseconds: int) -> str:
    """Returns the JSON form of an interval."""
    date = "".join(f"{count}{unit}" for count, unit in ((months, "M"), (days, "D")) if count)
    if not nanoseconds and date:
        return f"P{date}"
    sign, seconds = "-" if nanoseconds < 0 else "", divmod(abs(nanoseconds), 10**9)
    fraction = f".{seconds[1]:09}".rstrip("0") if seconds[1] else ""
    return f"P{date}T{sign}{seconds[0]}{fraction}S"


def json_column(array: Any, *, cut: bool = True) -> list[Any]:
    """Returns the values of an Arrow array in their JSON form."""
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in json_column(chunk, cut=cut)]
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(array, cut=cut)
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return json_column(decode(array), cut=cut)
    if kinds.is_nested(kind) or kinds.is_temporal(kind):
        return _nested_values(array, cut=cut) if kinds.is_nested(kind) else _temporal(array)
    values: list[Any] = array.to_pylist()
    if kinds.is_boolean(kind) or kinds.is_null(kind):
        return values
    return [to_json(value, cut=cut) for value in values]


def whole_numbers(array: Any) -> list[Any]:
    """Returns the JSON form of integers that Arrow has as decimals."""
    return [None if value is None else to_json(int(value)) for value in array.to_pylist()]


def decode(array: Any) -> Any:
    """Returns the values of an array with a dictionary or run-end encoding."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    is_dictionary = pa.types.is_dictionary(array.type)
    return array.dictionary_decode() if is_dictionary else pc.run_end_decode(array)


def text_column(array: Any) -> list[str | None]:
    """Returns the values of an Arrow array as texts: their JSON form, which is one already, or is
    written as JSON.
    """
    return [
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in json_column(array, cut=False)
    ]


def _extension(array: Any, *, cut: bool) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415

    if array.type == pa.uuid():
        return [None if value is None else str(value) for value in array.to_pylist()]
    if isinstance(array.type, pa.Bool8Type):
        return [None if value is None else bool(value) for value in array.storage.to_pylist()]
    return json_column(array.storage, cut=cut)


def _nested_values(array: Any, *, cut: bool) -> list[Any]:
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    if kinds.is_struct(kind):
        names = [field.name for field in kind]
        columns = [json_column(column, cut=cut) for column in array.flatten()]
        valid = array.is_valid().to_pylist()
        rows = zip(*columns, strict=True) if columns else ((),) * len(array)
        return [
            _struct_value(names, row) if is_valid else None
            for is_valid, row in zip(valid, rows, strict=True)
        ]
    if kinds.is_union(kind):
        return [json_column(_single(scalar), cut=cut)[0] for scalar in map(_member, array)]
    return [
        _entries(scalar.values, is_map=kinds.is_map(kind), cut=cut) if scalar.is_valid else None
        for scalar in array
    ]


def _entries(values: Any, *, is_map: bool, cut: bool) -> Any:
    kept = values[:MAX_ITEMS] if cut else values
    if not is_map:
        return json_column(kept, cut=cut)
    keys, items = (json_column(column, cut=cut) for column in kept.flatten())
    return _struct_value([key if isinstance(key, str) else _name(key) for key in keys], items)


def _member(scalar: Any) -> Any:
    return scalar.value if scalar.value is not None else scalar


def _single(scalar: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_union(scalar.type):
        return pa.nulls(1)
    return pa.repeat(scalar, 1) if scalar.is_valid else pa.nulls(1)


def infinite_count(kind: Any) -> int | None:
    """Returns the number in an Arrow type of dates or timestamps that DuckDB and PostgreSQL have
    for infinity, and its negative for -infinity; None for other types. In nanoseconds it is a time
    in 2262, the last one of pandas.
    """
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_date32(kind):
        return 2**31 - 1
    return 2**63 - 1 if kinds.is_timestamp(kind) and kind.unit != "ns" else None


def _temporal(array: Any) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    if kinds.is_interval(kind):
        return [None if each is None else interval_text(*each) for each in array.to_pylist()]
    if kinds.is_duration(kind):
        scale = _NANOSECONDS[kind.unit]
        counts = array.view(pa.int64()).to_pylist()
        return [None if each is None else interval_text(0, 0, each * scale) for each in counts]
    if kinds.is_date(kind):
        return _map(array, date_text)
    scale = _NANOSECONDS[kind.unit]
    is_clock = kinds.is_time(kind)
    zone = "" if is_clock or kind.tz is None else "+00:00"

    def moment(count: int) -> str:
        if is_clock:  # one may be 24:00:00
            return time_text(count * scale)
        return f"{moment_text(count * scale)}{zone}"

    return _map(array, moment)


def _map(array: Any, function: Callable[[int], str]) -> list[str | None]:
    import pyarrow as pa  # noqa: PLC0415

    stored = pa.int32() if array.type.bit_width == _INT32_BITS else pa.int64()
    counts = array.view(stored).to_pylist()
    if pa.types.is_date64(array.type):
        counts = [None if each is None else each // (_DAY_SECONDS * 1000) for each in counts]
    infinite = infinite_count(array.type)
    if infinite is None:
        return [None if each is None else function(each) for each in counts]
    named = {None: None, infinite: "infinity", -infinite: "-infinity"}
    return [named[each] if each in named else function(each) for each in counts]


def date_text(days: int) -> str:
    """Returns the JSON form of a date, given by the days since 1970. It may be of any year: before
    the year 1, its number is 0 or negative.
    """
    ordinal = days + _EPOCH_DAY
    if 1 <= ordinal <= dt.date.max.toordinal():
        return dt.date.fromordinal(ordinal).isoformat()
    cycles, rest = divmod(ordinal - 1, _CYCLE_DAYS)
    date = dt.date.fromordinal(rest + 1)
    year = date.year + cycles * _CYCLE_YEARS
    shown = f"-{-year:04}" if year < 0 else f"{year:04}"
    return f"{shown}-{date.month:02}-{date.day:02}"


def moment_text(nanoseconds: int) -> str:
    """Returns the JSON form of a timestamp without a zone, given by the nanoseconds since 1970."""
    days, rest = divmod(nanoseconds, _DAY_SECONDS * 10**9)
    return f"{date_text(days)} {time_text(rest)}"


def time_text(nanoseconds: int) -> str:
    """Returns the JSON form of a time, given by the nanoseconds since midnight."""
    seconds, rest = divmod(nanoseconds, 10**9)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    fraction = "" if not rest else f".{rest:09}" if rest % 1000 else f".{rest // 1000:06}"
    return f"{hour:02}:{minute:02}:{second:02}{fraction}"
