"""`image diff`."""

from __future__ import annotations

from anabranch.cli.commands.diff import show_changes
from anabranch.cli.framework.context import Call
from anabranch.model.uri import IMAGES

__all__ = ["run"]


def run(call: Call) -> None:
    """Shows how the second image differs from the first."""
    given = call.arguments
    parts = ("repositories", IMAGES, "refs", given.left, "diff", given.right)
    show_changes(call, *parts, prefix=given.prefix or None, type="two_dot")
