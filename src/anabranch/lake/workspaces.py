"""The part of a lake that concerns workspaces."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from anabranch.model.commits.change import Change
from anabranch.model.page import Page
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace import Checkpoint, OpenWorkspace
from anabranch.model.references.workspace_request import WorkspaceRequest

__all__ = ["Proposed", "Workspaces"]


class Proposed(Protocol):
    """A pull request by its id."""

    @property
    def id(self) -> str:
        """The id."""


@runtime_checkable
class Workspaces(Protocol):
    """The workspaces of repositories: branches that end, checkpoints and a proposal."""

    def create(self, repository: str, request: WorkspaceRequest) -> OpenWorkspace:
        """Creates a branch with the record of a workspace; on a server, with keys."""

    def get(self, repository: str, name: str) -> OpenWorkspace:
        """Returns a workspace. Raises NotFound, also once its branch is gone."""

    def list(self, repository: str, *, after: str = "", amount: int) -> Page[OpenWorkspace]:
        """Returns a page of the workspaces of a repository, by name."""

    def discard(self, repository: str, name: str) -> None:
        """Deletes a workspace with its branch."""

    def checkpoint(
        self, repository: str, name: str, label: str, *, message: str = ""
    ) -> Checkpoint:
        """Commits what the workspace has written, under a label that it has not used yet."""

    def restore(self, repository: str, name: str, checkpoint: str) -> Checkpoint:
        """Moves a workspace back to one of its checkpoints, or to `source`."""

    def undo(self, repository: str, name: str, operation_id: str = "") -> LoggedOperation:
        """Undoes a commit, a restore or a reset in a workspace, and returns the operation: by
        default the caller's last one that is not undone. Raises NotFound for those of others, and
        Conflict as `Operations.undo`.
        """

    def diff(
        self,
        repository: str,
        name: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of what the workspace has changed since it began."""

    def propose(
        self,
        repository: str,
        name: str,
        *,
        destination: str = "",
        title: str = "",
        description: str = "",
    ) -> Proposed:
        """Commits what the workspace has written, and opens a pull request."""
