"""What listings and look-ups give: objects and common prefixes."""

from __future__ import annotations

import msgspec

from anabranch.model.entry import Entry

__all__ = ["CommonPrefix", "Stat"]


class Stat(msgspec.Struct, frozen=True):
    """An object: its path, its entry, and the full address of its bytes, as clients see it."""

    path: str
    entry: Entry
    physical_address: str


class CommonPrefix(msgspec.Struct, frozen=True):
    """What stands for all paths that begin so, up to a delimiter."""

    path: str
