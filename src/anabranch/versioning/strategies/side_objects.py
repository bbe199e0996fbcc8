"""One side of a merge, as readers of table metadata see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from anabranch.errors import Conflict, Invalid
from anabranch.tables.live_rows.refusals import UNREADABLE, damage_refused
from anabranch.tables.live_rows.table_objects import local_location
from anabranch.versioning.strategies.contract import ObjectVersion, PathConflict, Side

__all__ = ["SideObjects", "refusal", "refusing_unreadable"]

_HINT = "Choose a side for the table's data and metadata."


def refusal(reason: str) -> Conflict:
    """Returns the error for tables that cannot be merged."""
    return Conflict(reason, kind="merge_failed", hint=_HINT)


@contextmanager
def refusing_unreadable() -> Iterator[None]:
    """Makes errors for tables that cannot be read errors of the merge, and what metadata of an
    unexpected form make Python raise.
    """
    try:
        with damage_refused():
            yield
    except Invalid as error:
        if error.kind != UNREADABLE:
            raise
        raise refusal(error.message) from error


class SideObjects:
    """The objects of the tree of one side."""

    def __init__(self, conflict: PathConflict, side: Side) -> None:
        self._conflict = conflict
        self._side: Side = side

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        return self._conflict.list(self._side, prefix)

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of an object. Raises FileNotFoundError without one."""
        return self._version(path).open()

    def location(self, path: str) -> str:
        """Returns the name by which DuckDB opens a file with an object's bytes. Raises
        FileNotFoundError without one.
        """
        return local_location(self._version(path).path())

    def _version(self, path: str) -> ObjectVersion:
        found = self._conflict.read(self._side, path)
        if found is None:
            raise FileNotFoundError(path)
        return found
