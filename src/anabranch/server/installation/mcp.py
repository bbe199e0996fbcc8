"""The gateway of the Model Context Protocol that the settings configure."""

from __future__ import annotations

from anabranch.access.access import Access
from anabranch.mcp.gateway import McpGateway
from anabranch.mcp.limits import CallLimits
from anabranch.rest.gateway import RestGateway
from anabranch.server.config.mcp import ModelContextProtocol

__all__ = ["open_mcp"]


def open_mcp(
    settings: ModelContextProtocol, rest: RestGateway, access: Access, version: str
) -> McpGateway | None:
    """Returns the gateway, None if it is not enabled."""
    if not settings.enabled:
        return None
    limits = CallLimits(seconds=float(settings.timeout))
    return McpGateway(rest, access, version, limits, write=False)
