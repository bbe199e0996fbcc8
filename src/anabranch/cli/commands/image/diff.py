"""`image diff`."""

from __future__ import annotations

from anabranch.cli.commands.differences.diff import show_changes
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import IMAGES

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Shows how the second image differs from the first."""
    given = context.arguments
    parts = ("repositories", IMAGES, "refs", given.left, "diff", given.right)
    show_changes(context, *parts, prefix=given.prefix or None, type="two_dot")
