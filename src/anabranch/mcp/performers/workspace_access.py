"""The keys of a caller's workspaces, in a process with the stores: what they allow is found by the
record of the workspace, so that no program needs to keep them.
"""

from __future__ import annotations

from anabranch.access.access import Access
from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.catalog.catalog import Catalog
from anabranch.errors import Denied, NotFound

__all__ = ["WorkspaceAccess"]


class WorkspaceAccess:
    """Finds what the keys of workspaces may do, for their creators."""

    def __init__(self, catalog: Catalog, access: Access) -> None:
        self._catalog = catalog
        self._grants = access.workspace_grants

    def confine(self, actor: Actor, repository: str, workspace: str) -> ConfinedActor:
        """Returns the actor of the keys of a workspace, for the user who has created it. Raises
        NotFound for one that has ended, and Denied for other users; also if the actor is that of a
        workspace's keys itself, since these are no key to another one.
        """
        if isinstance(actor, ConfinedActor):
            raise _denied(workspace)
        opened = self._catalog.workspaces.get(repository, workspace)
        grant = self._grants.find(opened.workspace.access_key_id)
        if grant is None:
            raise NotFound(
                f"the workspace {workspace} has ended",
                kind="workspace_not_found",
                hint="Create another one by create_workspace.",
            )
        confined = grant.confine(actor)
        if confined is None:
            raise _denied(workspace)
        return confined


def _denied(workspace: str) -> Denied:
    return Denied(
        f"{workspace} is a workspace of another user",
        kind="not_own_workspace",
        hint="Create one by create_workspace: users change their own workspaces alone.",
    )
