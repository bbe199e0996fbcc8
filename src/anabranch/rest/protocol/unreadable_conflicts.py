"""Conflicts of merges, as far as a caller may be told of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from anabranch.errors import MergeConflict
from anabranch.model.commits.conflict import OpenConflict
from anabranch.rest.protocol.call import Call

__all__ = ["ToldPaths", "hide_unreadable"]


class ToldPaths:
    """The paths that merges name to the caller: of objects that the caller may read, and of the
    records of tables that the caller may read by the Iceberg catalog.
    """

    def __init__(self, call: Call[Any, Any]) -> None:
        self._objects = call.readable_paths("", "")
        self._records = call.object_rights.on_tables

    @property
    def are_all(self) -> bool:
        """Whether the caller may read all objects."""
        return self._objects is None

    def __contains__(self, path: str) -> bool:
        """Returns whether a path is named."""
        return self._is_readable(path) or self._records.may_read(path)

    def conflicts(self, found: Iterable[OpenConflict]) -> list[OpenConflict]:
        """Returns the conflicts of these paths. Those of records that the caller may not read as
        objects are without these.
        """
        return [
            each
            if self._is_readable(each.path)
            else msgspec.structs.replace(each, base=None, source=None, destination=None)
            for each in found
            if each.path in self
        ]

    def _is_readable(self, path: str) -> bool:
        return self._objects is None or path in self._objects


def hide_unreadable(error: MergeConflict, call: Call[Any, Any]) -> None:
    """Removes the conflicts of paths that the caller may not read, and the message, which may quote
    their content.
    """
    told = ToldPaths(call)
    if told.are_all:
        return
    paths = tuple(path for path in error.paths if path in told)
    error.conflicts = tuple(told.conflicts(error.conflicts))
    if paths != error.paths:
        error.paths = paths
        error.message = "conflict found"
        error.args = (error.message,)
        error.hint = (
            "Conflicts of objects that you may not read are not named, and rules do not settle "
            "them by content. Choose a side for all paths, or ask a user who may read them."
        )
