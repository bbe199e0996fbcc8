"""The properties of a hook, as an action file gives them, read field by field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Invalid
from anabranch.errors.did_you_mean import closest

__all__ = ["MAX_TIMEOUT_SECONDS", "Properties", "seconds"]

MAX_TIMEOUT_SECONDS = 24 * 3600.0

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_MAX_DURATION_CHARS = 64


class Properties:
    """Reads properties. All methods raise Invalid (kind invalid_hook), which names the property;
    `where` is put before its name.
    """

    def __init__(self, values: Mapping[str, Any], *, where: str = "") -> None:
        self._values = values
        self._where = where
        self._known: set[str] = set()

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text that is not empty; the property must be there if it has no default."""
        value = self._get(name, default)
        if not isinstance(value, str) or (not value and default is None):
            raise self.invalid(name, f"must be text that is not empty, not {value!r}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Returns a truth value."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise self.invalid(name, f"must be true or false, not {value!r}")
        return value

    def count(self, name: str, default: int, *, most: int) -> int:
        """Returns a whole number from 0 to `most`."""
        value = self._get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise self.invalid(name, f"must be a whole number from 0 to {most}, not {value!r}")
        return value

    def duration(self, name: str, default: float) -> float:
        """Returns a time in seconds: a number, or text as in `1m30s`."""
        value = self._get(name, default)
        found = seconds(value)
        if found is None or not 0 < found <= MAX_TIMEOUT_SECONDS:
            raise self.invalid(name, f"must be a time such as 30s or 1m30s, not {value!r}")
        return found

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Returns a mapping with names of text, empty without the property."""
        value = self._get(name, {})
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self.invalid(name, "must be a mapping of names to values")
        return value

    def texts(self, name: str) -> Sequence[str]:
        """Returns a list of texts, empty without the property; a text is a list of one."""
        value = self._get(name, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
            raise self.invalid(name, "must be a list of texts")
        return items

    def items(self, name: str) -> Sequence[Properties]:
        """Returns the mappings of a list, each as properties; none without the property."""
        value = self._get(name, [])
        if not isinstance(value, list):
            raise self.invalid(name, "must be a list")
        for number, item in enumerate(value):
            if not isinstance(item, Mapping) or not all(isinstance(key, str) for key in item):
                raise self.invalid(f"{name}[{number}]", "must be a mapping of names to values")
        return [
            Properties(item, where=f"{self._where}{name}[{number}].")
            for number, item in enumerate(value)
        ]

    def any(self, name: str) -> Any:
        """Returns a value of any type, None without the property."""
        return self._get(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def refuse_others(self) -> None:
        """Raises Invalid if there is a property that nothing has asked for."""
        for name in self._values:
            if name not in self._known:
                hint = closest(name, sorted(self._known))
                raise self.invalid(
                    name, "is unknown", hint or f"Known are {', '.join(sorted(self._known))}."
                )

    def invalid(self, name: str, reason: str, hint: str | None = None) -> Invalid:
        """Returns the error for a property."""
        place = (self._where + name).removesuffix(".")
        subject = f"property {place}: " if place else ""
        return Invalid(subject + reason, kind="invalid_hook", hint=hint)

    def _get(self, name: str, default: object) -> Any:
        self._known.add(name)
        if name not in self._values and default is None:
            return None
        return self._values.get(name, default)


def seconds(value: object) -> float | None:
    """Returns a duration in seconds, given as a number or as text in Go's notation; None for what
    is no duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str) or not value or len(value) > _MAX_DURATION_CHARS:
        return None
    total, at = 0.0, 0
    while at < len(value):
        part = _PART.match(value, at)
        if part is None:
            return None
        total += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    return total
