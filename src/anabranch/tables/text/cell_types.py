"""Types of columns of text: those in which each cell is the value that is written.

A column is of numbers only if no digit is lost: `007` is no number, and 20 digits are a decimal. So
is a column of times only if its cells are written as in ISO 8601, in UTC if they have a zone.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.tables.table import UnreadableTable

__all__ = ["ColumnType", "cast_cells", "is_text"]

_INTEGER = r"^(0|-?[1-9][0-9]{0,18})$"
_LONG_INTEGER = r"^(0|-?[1-9][0-9]{0,37})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_NO_NUMBER = r"(?i)^([+-]?inf(inity)?|nan)$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_BOOLEAN = r"(?i)^(true|false)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_TIME = r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_PATTERNS = {
    "integer": _INTEGER,
    "boolean": _BOOLEAN,
    "long integer": _LONG_INTEGER,
    "double": _NUMBER,
    "decimal": _DECIMAL,
    "date": _DATE,
    "timestamp": _MOMENT + "$",
    "zoned": _MOMENT + r"(Z|[+-]00:?00)$",
    "time": _TIME,
}
_TYPES = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "long integer": pa.decimal128(38, 0),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
}
_SURE_DIGITS = 15
"""Digits of a number that a double always has."""

_MICROSECOND_DIGITS = 6
_SECOND_CHARS = len("2020-01-01 00:00:00")
_MAX_DIGITS = 38
_MAX_EXACT = 2**53
_FEW = 64
"""Cells for which a loop is faster than Arrow's functions: wide tables have few rows."""

_NUMERIC = frozenset({"integer", "long integer", "double", "decimal"})


def is_text(cell: str | None) -> bool:
    """Returns whether a cell is no number, truth value or time, so that it may be a name."""
    text = (cell or "").strip()
    return not any(re.match(pattern, text) for pattern in _PATTERNS.values())


class ColumnType:
    """The type of a column, of whose cells `add` receives all."""

    def __init__(self) -> None:
        self._possible = list(_PATTERNS)
        self._whole_digits = 0
        self._scale = 0
        self._second_digits = 0
        self._has_numbers = False
        self._has_cells = False

    def add(self, cells: Any) -> None:
        """Considers an array of texts."""
        if not self._possible:
            return
        values = pc.drop_null(cells)
        if not len(values):
            return
        self._has_cells = True
        values = pc.ascii_trim_whitespace(values)
        first = values[0].as_py()
        if self._possible[0] == "integer" and self._fits("integer", values):
            self._add_integers(values.cast(pa.int64()))
            return
        self._possible = [
            kind for kind in self._possible if (_matches(kind, first)) and self._fits(kind, values)
        ]

    @property
    def type(self) -> Any:
        """The Arrow type: string if nothing else fits."""
        if not self._has_cells:
            return pa.string()
        for kind in self._possible:
            if kind == "double" and not self._has_numbers:
                continue
            if kind in _TYPES:
                return _TYPES[kind]
            if kind == "decimal":
                if self._whole_digits + self._scale <= _MAX_DIGITS:
                    return pa.decimal128(_MAX_DIGITS, self._scale)
                continue
            unit = "us" if self._second_digits <= _MICROSECOND_DIGITS else "ns"
            return pa.timestamp(unit, "UTC" if kind == "zoned" else None)
        return pa.string()

    def _add_integers(self, values: Any) -> None:
        """Considers integers, which decimals hold as well, and doubles if they are not large."""
        extremes = pc.min_max(values)
        most = max(abs(extremes[end].as_py()) for end in ("min", "max"))
        self._has_numbers = True
        self._whole_digits = max(self._whole_digits, len(str(most)))
        skipped = {"double"} if most > _MAX_EXACT else set()
        self._possible = [
            kind for kind in self._possible if kind in _NUMERIC and kind not in skipped
        ]

    def _fits(self, kind: str, values: Any) -> bool:
        if not _all_match(kind, values):
            return False
        if kind == "double":
            return self._is_exact_as_double(values)
        if kind == "decimal":
            self._count_digits(values)
            return True
        if kind in ("timestamp", "zoned"):
            fraction = pc.replace_substring_regex(values, r"^[^.]*\.?|[^0-9]*$", "")
            self._second_digits = max(self._second_digits, _longest(_zone_removed(fraction)))
            target = pa.timestamp("us")
            values = _clock(pc.utf8_slice_codeunits(values, 0, _SECOND_CHARS))
        else:
            target = _TYPES[kind]
        try:
            _parse(values, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
        return True

    def _count_digits(self, values: Any) -> None:
        if len(values) <= _FEW:
            for text in values.to_pylist():
                whole, _, fraction = text.removeprefix("-").partition(".")
                self._whole_digits = max(self._whole_digits, len(whole))
                self._scale = max(self._scale, len(fraction))
            return
        wholes = pc.replace_substring_regex(values, r"^-|\..*$", "")
        fractions = pc.replace_substring_regex(values, r"^[^.]*\.?", "")
        self._whole_digits = max(self._whole_digits, _longest(wholes))
        self._scale = max(self._scale, _longest(fractions))

    def _is_exact_as_double(self, values: Any) -> bool:
        if len(values) <= _FEW:
            numbers = [text for text in values.to_pylist() if not re.match(_NO_NUMBER, text)]
            self._has_numbers = self._has_numbers or bool(numbers)
            return all(map(_is_exact, numbers))
        numbers = values.filter(pc.match_substring_regex(values, _NUMBER))
        self._has_numbers = self._has_numbers or len(numbers) > 0
        mantissa = pc.replace_substring_regex(numbers, r"[eE].*$", "")
        digits = pc.replace_substring_regex(mantissa, r"^[-0.]*|\.", "")
        is_sure = pc.less_equal(pc.utf8_length(digits), _SURE_DIGITS)
        is_plain = pc.invert(pc.match_substring_regex(numbers, "[eE]"))
        doubtful = numbers.filter(pc.invert(pc.and_(is_sure, is_plain)))
        return all(map(_is_exact, doubtful.to_pylist()))


def cast_cells(cells: Any, kind: Any, name: str) -> Any:
    """Returns an array of texts as values of a type. Raises UnreadableTable for a cell that is
    none.
    """
    if kind == pa.string():
        return cells
    try:
        return _parse(pc.ascii_trim_whitespace(cells), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnreadableTable(f"column {name} has a cell that is no {kind}") from error


def _is_exact(text: str) -> bool:
    number = float(text)
    return math.isfinite(number) and Decimal(repr(number)) == Decimal(text)


def _parse(values: Any, kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        plain = _clock(pc.replace_substring_regex(values, r"(Z|[+-]00:?00)$", ""))
        moments = plain.cast(pa.timestamp(kind.unit))
        return moments if kind.tz is None else pc.assume_timezone(moments, kind.tz)
    if pa.types.is_time(kind):  # Arrow parses times only behind a date
        moments = pc.binary_join_element_wise("1970-01-01", values, " ")
        return moments.cast(pa.timestamp("us")).cast(kind)
    if pa.types.is_boolean(kind):
        return pc.ascii_lower(values).cast(kind)
    if pa.types.is_floating(kind):
        values = pc.replace_substring_regex(values, r"^\+", "")
    return values.cast(kind)


def _clock(moments: Any) -> Any:
    return pc.replace_substring(moments, "T", " ")


def _zone_removed(fractions: Any) -> Any:
    return pc.replace_substring_regex(fractions, r"[^0-9].*$", "")


def _matches(kind: str, cell: str) -> bool:
    return bool(
        re.match(_PATTERNS[kind], cell) or (kind == "double" and re.match(_NO_NUMBER, cell))
    )


def _all_match(kind: str, values: Any) -> bool:
    if len(values) <= _FEW:
        return all(_matches(kind, text) for text in values.to_pylist())
    matches = pc.match_substring_regex(values, _PATTERNS[kind])
    if kind == "double":
        matches = pc.or_(matches, pc.match_substring_regex(values, _NO_NUMBER))
    return bool(pc.all(matches).as_py())


def _longest(texts: Any) -> int:
    return int(pc.max(pc.utf8_length(texts)).as_py() or 0)
