"""The record of a workspace, written in the step that creates its branch."""

from __future__ import annotations

import msgspec

from anabranch.model.caller import Principal
from anabranch.model.references.branch import Branch
from anabranch.model.references.workspace import Workspace
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.references.workspaces import Workspaces
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["WorkspaceCreation"]


class WorkspaceCreation(msgspec.Struct, frozen=True, kw_only=True):
    """Extra writes of a new branch, which make it a workspace of `creator`. `access_key_id` and
    `key_check` are as in the workspace.
    """

    workspaces: Workspaces
    repository: Repository
    request: WorkspaceRequest
    creator: Principal
    created_at: int
    access_key_id: str
    key_check: str

    def workspace(self, branch: Branch) -> Workspace:
        """Returns the workspace of the new branch."""
        request = self.request
        return Workspace(
            branch=branch.id,
            source=request.source,
            source_commit=branch.commit_id,
            created_at=self.created_at,
            creator=self.creator,
            readable=tuple(request.readable),
            writable=tuple(request.writable),
            purpose=request.purpose,
            run_id=request.run_id,
            metadata=dict(request.metadata),
            access_key_id=self.access_key_id,
            key_check=self.key_check,
        )

    def writes_for(self, branch: Branch, /) -> ExtraWrites:
        """Returns the writes."""
        return self.workspaces.creation(self.repository, self.workspace(branch))
