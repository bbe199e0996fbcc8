"""The gateway of the Model Context Protocol that the settings configure."""

from __future__ import annotations

from anabranch.mcp.gateway import McpGateway
from anabranch.mcp.limits import CallLimits
from anabranch.mcp.performers.workspace_access import WorkspaceAccess
from anabranch.rest.gateway import RestGateway
from anabranch.rest.protocol.services import Services
from anabranch.server.config.mcp import ModelContextProtocol

__all__ = ["open_mcp"]


def open_mcp(
    settings: ModelContextProtocol, rest: RestGateway, services: Services
) -> McpGateway | None:
    """Returns the gateway, None if it is not enabled."""
    if not settings.enabled:
        return None
    return McpGateway(
        rest,
        services.access,
        WorkspaceAccess(services.catalog, services.access),
        services.version.anabranch,
        CallLimits(seconds=float(settings.timeout)),
        write=settings.write,
        audit=services.audit,
    )
