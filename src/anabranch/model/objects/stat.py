"""The items of listings and look-ups: objects and common prefixes."""

from __future__ import annotations

import msgspec

from anabranch.model.objects.entry import Entry

__all__ = ["CommonPrefix", "Stat"]


class Stat(msgspec.Struct, frozen=True):
    """An object: its path, its entry, and the full address of its bytes, as clients see it."""

    path: str
    entry: Entry
    physical_address: str


class CommonPrefix(msgspec.Struct, frozen=True):
    """All paths that have this prefix, which ends with the delimiter."""

    path: str
