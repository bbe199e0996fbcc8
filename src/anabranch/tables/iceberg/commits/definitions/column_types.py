"""The types of columns: which there are, from which format version, and the values of defaults.

Source: the Iceberg table specification, "Schemas and Data Types", "Default values", and the
appendix "JSON single-value serialization".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anabranch.tables.iceberg.commits.refusals import refused

__all__ = ["base_name", "check_default", "first_version", "normal_name"]

_PRIMITIVES = frozenset(
    [
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "string",
        "uuid",
        "binary",
    ]
)
_SINCE_3 = frozenset(
    ["timestamp_ns", "timestamptz_ns", "unknown", "variant", "geometry", "geography"]
)
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_GEOMETRY = re.compile(r"geometry\(\s*[^),]+\s*\)")
_GEOGRAPHY = re.compile(
    r"geography\(\s*[^),]+\s*(,\s*(spherical|vincenty|thomas|andoyer|karney)\s*)?\)"
)
_MAX_DIGITS = 38

_NO_DEFAULT = frozenset(["unknown", "variant", "geometry", "geography"])
"""Types whose default is null always."""

_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,%d})?)?"
_DATE = r"[+-]?\d{4,}-\d\d-\d\d"
_TEXTS = {
    name: re.compile(pattern)
    for name, pattern in (
        ("date", _DATE),
        ("time", _CLOCK % 6),
        ("timestamp", f"{_DATE}T{_CLOCK % 6}"),
        ("timestamptz", f"{_DATE}T{_CLOCK % 6}([+-]00:00|Z)"),
        ("timestamp_ns", f"{_DATE}T{_CLOCK % 9}"),
        ("timestamptz_ns", f"{_DATE}T{_CLOCK % 9}([+-]00:00|Z)"),
        ("decimal", r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"),
        ("uuid", r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
        ("fixed", r"([0-9a-fA-F]{2})*"),
        ("binary", r"([0-9a-fA-F]{2})*"),
        ("string", r"(?s:.*)"),
    )
}
_BITS = {"int": 31, "long": 63}


def base_name(name: str) -> str:
    """Returns a type's name without its parameters, "" for what is no primitive type."""
    base = re.split(r"[\[(]", name, maxsplit=1)[0]
    if name in _PRIMITIVES or name in _SINCE_3:
        return name
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return base if 1 <= int(decimal[1]) <= _MAX_DIGITS else ""
    is_known = any(each.fullmatch(name) for each in (_FIXED, _GEOMETRY, _GEOGRAPHY))
    return base if is_known else ""


def normal_name(name: str) -> str:
    """Returns a type's name in the form in which equal types have equal names."""
    return re.sub(r"\s+", "", name)


def first_version(base: str) -> int:
    """Returns the first format version that has a primitive type."""
    return 3 if base in _SINCE_3 else 1


def check_default(value: Any, given: Any, where: str) -> None:
    """Raises Invalid unless a value of JSON is one of a type, which has been checked."""
    if value is None:
        return
    if isinstance(given, str):
        is_valid = _is_value(value, base_name(given), given)
    elif given["type"] == "struct":  # its fields have defaults of their own
        is_valid = value == {}
    elif given["type"] == "list":
        is_valid = isinstance(value, list)
        for each in value if is_valid else ():
            check_default(each, given["element"], where)
    else:
        keys, values = _entries(value)
        is_valid = keys is not None and len(keys) == len(values)
        for each in keys or ():
            check_default(each, given["key"], where)
        for each in values:
            check_default(each, given["value"], where)
    if not is_valid:
        raise refused(f"{where}: the default {value!r:.100} is no value of the type {given!r:.100}")


def _entries(value: Any) -> tuple[list[Any] | None, list[Any]]:
    if not isinstance(value, Mapping):
        return None, []
    keys, values = value.get("keys"), value.get("values")
    return (keys, values) if isinstance(keys, list) and isinstance(values, list) else (None, [])


def _is_value(value: Any, base: str, name: str) -> bool:
    if base == "boolean" or isinstance(value, bool) or base in _NO_DEFAULT:
        return base == "boolean" and isinstance(value, bool)
    if base in _BITS:
        most = 2 ** _BITS[base]
        return isinstance(value, int) and -most <= value < most
    if base in {"float", "double"}:
        return isinstance(value, int | float)
    if not isinstance(value, str) or _TEXTS[base].fullmatch(value) is None:
        return False
    fixed = _FIXED.fullmatch(name)
    return fixed is None or len(value) == 2 * int(fixed[1])
