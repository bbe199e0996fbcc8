"""The objects that the rules of a merge may read and write: those that the merge's caller may.

A rule acts for the caller of the merge, whether the request has it or the destination's file. Other
users write that file, and a rule may send content elsewhere, so a rule must not lend the rights of
the process that merges.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["ALL_CONTENT", "NO_CONTENT", "ContentRights"]


class ContentRights(Protocol):
    """What a caller may do with the objects of one repository."""

    def may_read(self, path: str) -> bool:
        """Returns whether the object at a path may be read."""

    def may_write(self, path: str) -> bool:
        """Returns whether an object may be written to a path."""

    def may_delete(self, path: str) -> bool:
        """Returns whether the object at a path may be deleted."""

    @property
    def on_tables(self) -> ContentRights:
        """The rights for the rules of the Iceberg catalog itself: besides these, those to tables
        and namespaces, of which a path is the record.
        """


class _UniformRights(NamedTuple):
    granted: bool

    def may_read(self, path: str) -> bool:  # noqa: ARG002  all paths are alike
        return self.granted

    def may_write(self, path: str) -> bool:  # noqa: ARG002
        return self.granted

    def may_delete(self, path: str) -> bool:  # noqa: ARG002
        return self.granted

    @property
    def on_tables(self) -> ContentRights:
        return self


ALL_CONTENT: ContentRights = _UniformRights(True)
"""The rights of a process without users, which opens the stores itself."""

NO_CONTENT: ContentRights = _UniformRights(False)
"""The rights of a merge that names no caller."""
