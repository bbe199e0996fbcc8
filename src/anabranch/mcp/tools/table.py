"""All tools, in the order in which clients see them."""

from __future__ import annotations

from anabranch.mcp.tool import Tool
from anabranch.mcp.tools import checks, differences, history, objects, repositories, tables

__all__ = ["READING", "available"]

READING: tuple[Tool, ...] = (
    *repositories.TOOLS,
    *objects.TOOLS,
    *tables.TOOLS,
    *differences.TOOLS,
    *history.TOOLS,
    *checks.TOOLS,
)
"""Tools that change nothing."""


def available(*, write: bool) -> dict[str, Tool]:
    """Returns the tools by name; with `write`, also those that change workspaces."""
    del write
    return {tool.name: tool for tool in READING}
