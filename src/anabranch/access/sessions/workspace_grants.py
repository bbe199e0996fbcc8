"""What the keys of workspaces grant now: nothing once the branch is gone or its time is over.

Nothing is cached: a workspace that has ended is refused at once, by all servers.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.confinement import Confinement
from anabranch.access.credentials.workspace_keys import WorkspaceKeys, is_workspace_key
from anabranch.model.caller import Principal
from anabranch.model.secret import Secret
from anabranch.versioning.references.workspaces import LiveWorkspace, Workspaces

__all__ = ["WorkspaceGrant", "WorkspaceGrants"]


class WorkspaceGrant:
    """A workspace whose keys are valid."""

    def __init__(self, live: LiveWorkspace, keys: WorkspaceKeys, secret: Secret) -> None:
        self._live = live
        self._keys = keys
        self.secret = secret

    @property
    def creator(self) -> Principal:
        """The user who has created the workspace."""
        return self._live.workspace.creator

    def has_token(self, token: str) -> bool:
        """Returns whether a token is that of the workspace."""
        return self._keys.verify_token(token, self._live.workspace.key_check)

    def confine(self, creator: Actor | None) -> ConfinedActor | None:
        """Returns the creator of the workspace, if this is the user, as the actor of its keys."""
        workspace, principal = self._live.workspace, self.creator
        if creator is None or not is_same_user(creator, principal):
            return None
        return ConfinedActor(
            creator,
            Confinement(
                repository=self._live.repository,
                branch=workspace.branch,
                source_commit=workspace.source_commit,
                readable=workspace.readable,
                writable=workspace.writable,
                run_id=workspace.run_id,
                expires_at=self._live.branch.expires_at,
                access_key_id=workspace.access_key_id,
            ),
        )


class WorkspaceGrants:
    """Finds workspaces by their keys. `clock` returns seconds since 1970."""

    def __init__(
        self, workspaces: Workspaces, keys: WorkspaceKeys, clock: Callable[[], float]
    ) -> None:
        self.keys = keys
        self._workspaces = workspaces
        self._clock = clock

    def find(self, access_key_id: str) -> WorkspaceGrant | None:
        """Returns the workspace of an access key; None for other keys, and once it has ended."""
        if not is_workspace_key(access_key_id):
            return None
        live = self._workspaces.find_by_key(access_key_id)
        if live is None or self._clock() >= live.branch.expires_at:
            return None
        secret = self.keys.secret(access_key_id, live.workspace.key_check)
        return None if secret is None else WorkspaceGrant(live, self.keys, secret)


def is_same_user(actor: Actor, principal: Principal) -> bool:
    """Returns whether an actor is the user of a principal, not a later one of the name."""
    if actor.username != principal.username:
        return False
    if principal.record_id or actor.record_id:
        return principal.record_id == actor.record_id
    return principal.created_at == actor.created_at
