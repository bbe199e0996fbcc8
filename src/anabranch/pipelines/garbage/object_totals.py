"""Totals of a set of objects."""

from __future__ import annotations

import msgspec

__all__ = ["ObjectTotals"]


class ObjectTotals(msgspec.Struct):
    """The number of objects and their total size in bytes."""

    objects: int = 0
    bytes: int = 0

    def add(self, objects: int, size: int) -> None:
        """Adds a number of objects and their total size."""
        self.objects += objects
        self.bytes += size
