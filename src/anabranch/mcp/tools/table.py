"""All tools, in the order in which clients see them."""

from __future__ import annotations

from anabranch.mcp.tool import Tool
from anabranch.mcp.tools import (
    checks,
    differences,
    history,
    objects,
    repositories,
    tables,
    workspaces,
)

__all__ = ["READING", "WRITING", "available"]

READING: tuple[Tool, ...] = (
    *repositories.TOOLS,
    *objects.TOOLS,
    *tables.TOOLS,
    *differences.TOOLS,
    *history.TOOLS,
    *checks.TOOLS,
)
"""Tools that change nothing."""

WRITING: tuple[Tool, ...] = workspaces.TOOLS
"""Tools that change workspaces."""


def available(*, write: bool) -> dict[str, Tool]:
    """Returns the tools by name; with `write`, also those that change workspaces."""
    tools = (*READING, *WRITING) if write else READING
    return {tool.name: tool for tool in tools}
