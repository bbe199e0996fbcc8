"""`time`: moments are nanoseconds since 1970, as floating-point numbers."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.go_layouts import format_time, parse_time

__all__ = ["time"]

_ISO = "2006-01-02T15:04:05-07:00"
_NANOS = 1_000_000_000
_UNITS = {"hour": 3600, "minute": 60, "second": 1}


def time(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `time`. A format has no fractions of seconds, as in lakeFS."""

    def now() -> float:
        return float(clock.time_ns())

    def format(epoch_nanos: float, layout: str, zone: str) -> str:  # noqa: A001  its name in Lua
        return format_time(_moment(epoch_nanos, zone), layout)

    def format_iso(epoch_nanos: float, zone: str = "") -> str:
        return format_time(_moment(epoch_nanos, zone), _ISO)

    def sleep(nanos: int) -> None:
        clock.sleep(max(0, nanos) / _NANOS)

    def since(epoch_nanos: float) -> float:
        return clock.time_ns() - epoch_nanos

    def add(epoch_nanos: float, duration: Any) -> float:
        if not isinstance(duration, dict):
            raise ValueError("bad argument #2 to 'add' (table expected)")  # noqa: TRY004  Lua's error
        seconds = sum(int(duration.get(unit) or 0) * factor for unit, factor in _UNITS.items())
        return float(int(epoch_nanos) + seconds * _NANOS)

    def parse(layout: str, text: str) -> float:
        return _nanos(parse_time(layout, text))

    def parse_iso(text: str) -> float:
        return _nanos(parse_time(_ISO, text))

    return {
        "now": now,
        "format": format,
        "format_iso": format_iso,
        "formatISO": format_iso,
        "sleep": sleep,
        "since": since,
        "add": add,
        "parse": parse,
        "parse_iso": parse_iso,
        "parseISO": parse_iso,
    }


def _moment(epoch_nanos: float, zone: str) -> datetime:
    return datetime.fromtimestamp(int(epoch_nanos) // _NANOS, _zone(zone))


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name}") from error


def _nanos(moment: datetime) -> float:
    whole = int(moment.replace(microsecond=0).timestamp())
    return float(whole * _NANOS + moment.microsecond * 1000)
