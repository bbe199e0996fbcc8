"""Files that are written within a transaction, which stores them at its end."""

from __future__ import annotations

from anabranch.fsspec.locations import Location
from anabranch.lake.spooled_file import SpooledFile

__all__ = ["DeferredFile"]

_IN_MEMORY = 1 << 20
"""Larger files are kept on disk until they are stored, in bytes."""


class DeferredFile(SpooledFile):
    """A binary file for writing, whose bytes stay after it was closed. If the block that writes it
    fails, it `is_failed`, and has no bytes.
    """

    def __init__(self, location: Location, *, if_absent: bool) -> None:
        super().__init__(_IN_MEMORY)
        self.location = location
        self.if_absent = if_absent
        self.is_failed = False

    def discard(self) -> None:
        """Drops what was written, unless the file was closed."""
        if not self.closed:
            self.is_failed = True
            self.close()

    def drop(self) -> None:
        """Closes the file and drops its bytes."""
        self.close()
        self._content.close()
