"""What settings are made of: groups, what each means, and values that are no plain types."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

__all__ = ["Address", "Group", "Means", "Seconds"]


class Means(NamedTuple):
    """What a setting means; `under_data` is its default's place in the data folder, `shared` says
    that all servers of one database must have it alike.
    """

    meaning: str
    under_data: str = ""
    shared: bool = False


class Address(NamedTuple):
    """A host and a port to listen on; an empty host is every interface, port 0 any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Seconds(float):
    """A duration in seconds, written with units: `15m`, `1h30m`, `500ms`."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that belong together."""
