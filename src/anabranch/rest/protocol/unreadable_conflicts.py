"""Conflicts of objects that a caller may not read."""

from __future__ import annotations

from typing import Any

from anabranch.errors import MergeConflict
from anabranch.rest.protocol.call import Call

__all__ = ["hide_unreadable"]


def hide_unreadable(error: MergeConflict, call: Call[Any, Any]) -> None:
    """Removes the conflicts of paths that the caller may not read, and the message, which may quote
    their content.
    """
    readable = call.readable_paths("", "")
    if readable is None:
        return
    paths = tuple(path for path in error.paths if path in readable)
    if paths != error.paths:
        error.paths = paths
        error.conflicts = tuple(each for each in error.conflicts if each.path in readable)
        error.message = "conflict found"
        error.args = (error.message,)
        error.hint = (
            "Conflicts of objects that you may not read are not named, and rules do not settle "
            "them by content. Choose a side for all paths, or ask a user who may read them."
        )
