"""Arrow types of JSON values: those that hold each value of a column as it is written.

Integers become decimals where 64 bits do not hold them, and numbers with more digits than a double
has become decimals as well. A column with values of several kinds is text: each value as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

__all__ = ["MAX_COLUMNS", "Convert", "JsonType", "decode_number"]

MAX_COLUMNS = 10_000
"""Names of objects that are columns of a table, at most."""

_MAX_DIGITS = 38
_MAX_KEYS = 1000
_MAX_DEPTH = 32
_MAX_EXACT = 2**53
_INT64 = 2**63
_SMALL_DIGITS = 16
"""Digits of integers up to _MAX_EXACT."""

_SURE_DIGITS = 15

_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
Convert = Callable[[Any], Any]
"""Makes a value of a column's Arrow type of one that was decoded, which is not None."""


def decode_number(text: str) -> float | Decimal:
    """Returns a number with a fraction or an exponent: a float if that has its digits."""
    number = float(text)
    if len(text) <= _SURE_DIGITS and "e" not in text and "E" not in text:
        return number
    exact = Decimal(text)
    is_finite = abs(number) != float("inf")
    return number if is_finite and Decimal(repr(number)) == exact else exact


class JsonType:
    """The type of the values that were added."""

    def __init__(self, depth: int = 0) -> None:
        self._kinds: set[str] = set()
        self._depth = depth
        self._whole_digits = 0
        self._scale = 0
        self._has_wide = False
        self._has_large = False
        self._items: JsonType | None = None
        self.fields: dict[str, JsonType] = {}

    def add(self, value: Any) -> None:
        """Considers a value."""
        kind = type(value)
        if kind is str:
            self._kinds.add("text")
        elif kind is bool:
            self._kinds.add("bool")
        elif kind is int:
            self._add_integer(value)
        elif kind is float:
            self._kinds.add("float")
            self._digits(Decimal(repr(value)))
        elif kind is Decimal:
            self._kinds.add("decimal")
            self._digits(value)
        elif kind is dict:
            self._add_object(value)
        elif kind is list:
            self._kinds.add("list")
            self._items = self._items or JsonType(self._depth + 1)
            if self._depth < _MAX_DEPTH:
                for item in value:
                    self._items.add(item)

    def _add_integer(self, value: int) -> None:
        self._kinds.add("int")
        if not -_MAX_EXACT <= value <= _MAX_EXACT:
            self._has_large = True
            self._has_wide = self._has_wide or not -_INT64 <= value < _INT64
            self._whole_digits = max(self._whole_digits, len(str(abs(value))))
        else:
            self._whole_digits = max(self._whole_digits, _SMALL_DIGITS)

    def _add_object(self, value: dict[str, Any]) -> None:
        self._kinds.add("object")
        most = _MAX_KEYS if self._depth else MAX_COLUMNS
        if self._depth >= _MAX_DEPTH or len(self.fields) > most:
            return
        for key, item in value.items():
            field = self.fields.get(key)
            if field is None:
                field = self.fields[key] = JsonType(self._depth + 1)
            field.add(item)

    def _digits(self, number: Decimal) -> None:
        _, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)  # noqa: S101  JSON has no infinite numbers
        self._scale = max(self._scale, -exponent)
        self._whole_digits = max(self._whole_digits, len(digits) + exponent)

    def column(self) -> tuple[Any, Convert | None]:
        """Returns the Arrow type, and what makes its values of those that were decoded, None if
        they are.
        """
        kinds = self._kinds
        if not kinds:
            return pa.string(), None
        if kinds <= {"int", "float", "decimal"}:
            return self._number()
        if len(kinds) > 1:
            return pa.string(), _text
        (kind,) = kinds
        if kind in ("text", "bool"):
            return (pa.string() if kind == "text" else pa.bool_()), None
        return self._nested_type(kind)

    def _number(self) -> tuple[Any, Convert | None]:
        kinds = self._kinds
        if kinds == {"int"} and not self._has_wide:
            return pa.int64(), None
        if "decimal" not in kinds and "float" in kinds and not self._has_large:
            return pa.float64(), None
        scale = 0 if kinds == {"int"} else self._scale
        if self._whole_digits + scale <= _MAX_DIGITS and scale <= _MAX_DIGITS:
            return pa.decimal128(_MAX_DIGITS, scale), _decimal if "float" in kinds else None
        return pa.string(), _text

    def _nested_type(self, kind: str) -> tuple[Any, Convert | None]:
        if kind == "list" and self._depth < _MAX_DEPTH:
            assert self._items is not None  # noqa: S101  it is set with the kind
            item, convert = self._items.column()
            if convert is None:
                return pa.list_(item), None
            return pa.list_(item), _of_list(convert)
        if kind == "object" and 0 < len(self.fields) <= _MAX_KEYS and self._depth < _MAX_DEPTH:
            columns = {name: field.column() for name, field in self.fields.items()}
            fields = [pa.field(name, each[0]) for name, each in columns.items()]
            converted = {name: each[1] for name, each in columns.items() if each[1] is not None}
            if not converted:
                return pa.struct(fields), None
            return pa.struct(fields), _of_object(converted)
        return pa.string(), _text


def _of_list(convert: Convert) -> Convert:
    return lambda values: [None if value is None else convert(value) for value in values]


def _of_object(converted: Mapping[str, Convert]) -> Convert:
    return lambda value: {
        name: converted[name](item) if name in converted and item is not None else item
        for name, item in value.items()
    }


def _decimal(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _text(value: Any) -> str:
    return _ENCODE(value).decode()
