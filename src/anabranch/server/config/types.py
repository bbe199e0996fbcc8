"""Types of settings: groups, descriptions, and values that are not plain types."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

__all__ = ["Address", "PageUrl", "Pairs", "Seconds", "SettingDoc", "SettingsGroup"]

Pairs = tuple[tuple[str, str], ...]
"""Names and values: a table of a file, or text as in `name=value,other=value`. A name that has a
list of values occurs once with each.
"""


class SettingDoc(NamedTuple):
    """The description of a setting. `under_data` is its default path in the data folder; a `shared`
    setting must have the same value on all servers of one database, or the setting named `instead`
    must have that value.
    """

    meaning: str
    under_data: str = ""
    shared: bool = False
    instead: str = ""


class Address(NamedTuple):
    """A host and a port to listen on. An empty host stands for all interfaces, port 0 for any free
    port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Seconds(float):
    """A duration in seconds, written with units: `15m`, `1h30m`, `500ms`."""


class PageUrl(str):
    """An address that browsers open, `https://` or `http://`; or empty."""

    __slots__ = ()


class SettingsGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of settings."""
