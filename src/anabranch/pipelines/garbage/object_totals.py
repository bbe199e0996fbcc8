"""An amount of objects."""

from __future__ import annotations

import msgspec

__all__ = ["ObjectTotals"]


class ObjectTotals(msgspec.Struct):
    """So many objects, and how many bytes they take."""

    objects: int = 0
    bytes: int = 0

    def add(self, objects: int, size: int) -> None:
        """Adds to it."""
        self.objects += objects
        self.bytes += size
