"""The gateway of the Model Context Protocol that the settings configure."""

from __future__ import annotations

from anabranch.access.access import Access
from anabranch.catalog.catalog import Catalog
from anabranch.mcp.gateway import McpGateway
from anabranch.mcp.limits import CallLimits
from anabranch.mcp.workspace_access import WorkspaceAccess
from anabranch.rest.gateway import RestGateway
from anabranch.server.config.mcp import ModelContextProtocol

__all__ = ["open_mcp"]


def open_mcp(
    settings: ModelContextProtocol,
    rest: RestGateway,
    access: Access,
    catalog: Catalog,
    version: str,
) -> McpGateway | None:
    """Returns the gateway, None if it is not enabled."""
    if not settings.enabled:
        return None
    limits = CallLimits(seconds=float(settings.timeout))
    workspaces = WorkspaceAccess(catalog, access)
    return McpGateway(rest, access, workspaces, version, limits, write=settings.write)
