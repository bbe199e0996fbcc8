"""Dates and times in Avro files, as the numbers that are stored: they may be of any year.

Libraries turn them into values of Python, which has the years 1 to 9999 and no time 24:00.

Source: the Avro specification, "Logical Types"; the Iceberg table specification, appendix "Avro".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from anabranch.tables.json_values import date_text, moment_text, time_text

__all__ = ["TimeUnit", "TimeValue", "time_units", "without_times"]

_Kind = Literal["date", "time", "timestamp"]
_NANOSECONDS = {"millis": 10**6, "micros": 10**3, "nanos": 1}
_KINDS: Mapping[str, _Kind] = {
    "time": "time",
    "timestamp": "timestamp",
    "local-timestamp": "timestamp",
}


class TimeUnit(msgspec.Struct, frozen=True):
    """What is counted: days, or times in units of some `nanoseconds`."""

    kind: _Kind
    nanoseconds: int = 0
    has_zone: bool = False


_UNITS = {
    f"{name}-{unit}": TimeUnit(kind, nanoseconds)
    for name, kind in _KINDS.items()
    for unit, nanoseconds in _NANOSECONDS.items()
} | {"date": TimeUnit("date")}
"""The units by Avro's names."""


class TimeValue(msgspec.Struct, frozen=True):
    """A date or time: how many units since 1970 or midnight. Its text is the JSON form."""

    count: int
    unit: TimeUnit

    @property
    def nanoseconds(self) -> int:
        """How many nanoseconds since 1970 or midnight a time is."""
        return self.count * self.unit.nanoseconds

    def plain_text(self) -> str:
        """Returns the text without a zone."""
        if self.unit.kind == "date":
            return date_text(self.count)
        return (time_text if self.unit.kind == "time" else moment_text)(self.nanoseconds)

    def __str__(self) -> str:
        return self.plain_text() + ("+00:00" if self.unit.has_zone else "")


def without_times(schema: Any) -> Any:
    """Returns a schema with numbers in place of dates and times."""
    if isinstance(schema, list):
        return [without_times(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if _unit(schema) is not None:
        return schema["type"]
    return {
        name: without_times(part) if name in {"type", "items", "values", "fields"} else part
        for name, part in schema.items()
    }


def time_units(record: Mapping[str, Any]) -> dict[str, TimeUnit]:
    """Returns the units of the fields of a record that are dates and times, by their names."""
    found = {}
    for field in record["fields"]:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        unit = next(filter(None, map(_unit, kinds)), None)
        if unit is not None:
            found[field["name"]] = unit
    return found


def _unit(schema: Any) -> TimeUnit | None:
    """Returns the unit of a date or time, None for other types."""
    if not isinstance(schema, dict) or schema.get("type") not in ("int", "long"):
        return None
    unit = _UNITS.get(str(schema.get("logicalType")))
    has_zone = schema.get("adjust-to-utc") is True
    return unit if unit is None or not has_zone else msgspec.structs.replace(unit, has_zone=True)
