"""Calls of workspaces."""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.model.caller import Principal
from anabranch.model.commits.change import Change
from anabranch.model.page import Page
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace import (
    Checkpoint,
    OpenWorkspace,
    Workspace,
    WorkspaceKeys,
)
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.secret import Secret
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.operations import logged
from anabranch.remote.calls.results import change_page, nothing

__all__ = [
    "Proposal",
    "checkpoint",
    "create",
    "diff",
    "discard",
    "get",
    "list_page",
    "propose",
    "restore",
    "undo",
]


class Proposal(msgspec.Struct, frozen=True):
    """The pull request of a workspace, by its id."""

    id: str


class _Wire(msgspec.Struct, frozen=True, kw_only=True):
    branch: str
    state: str
    source: str
    source_commit: str
    commit_id: str
    creator: str
    created_at: int
    expires_at: int
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    purpose: str = ""
    run_id: str = ""
    metadata: dict[str, str] = {}
    checkpoints: tuple[Checkpoint, ...] = ()
    pull_request: str = ""
    token: str = ""
    access_key_id: str = ""
    secret_access_key: str = ""

    def opened(self) -> OpenWorkspace:
        """Returns the workspace; its keys, if the server has sent them."""
        workspace = Workspace(
            branch=self.branch,
            source=self.source,
            source_commit=self.source_commit,
            created_at=self.created_at,
            creator=Principal(self.creator),
            readable=self.readable,
            writable=self.writable,
            purpose=self.purpose,
            run_id=self.run_id,
            metadata=self.metadata,
            checkpoints=self.checkpoints,
            pull_request=self.pull_request,
            access_key_id=self.access_key_id,
        )
        branch = Branch(
            id=self.branch,
            commit_id=self.commit_id,
            staging_token="",
            expires_at=self.expires_at,
        )
        keys = None
        if self.token:
            secret = Secret(self.secret_access_key)
            keys = WorkspaceKeys(Secret(self.token), self.access_key_id, secret)
        return OpenWorkspace(workspace, branch, self.state == "expired", keys)


_ONE = msgspec.json.Decoder(_Wire)
_PAGE = msgspec.json.Decoder(WirePage[_Wire])
_CHECKPOINT = msgspec.json.Decoder(Checkpoint)
_PROPOSAL = msgspec.json.Decoder(Proposal)


def create(repository: str, request: WorkspaceRequest) -> Call[OpenWorkspace]:
    """Creates a branch with the record of a workspace, and keys."""
    body = {
        "source": request.source,
        "expires": f"{request.seconds}s",
        "readable": list(request.readable),
        "writable": list(request.writable),
        "purpose": request.purpose,
        "run_id": request.run_id,
        "metadata": dict(request.metadata),
        "branch": request.branch,
    }
    return Exchange(change("POST", ["repositories", repository, "workspaces"], body), _one)


def get(repository: str, name: str) -> Call[OpenWorkspace]:
    """Returns a workspace. Raises NotFound, also once its branch is gone."""
    return Exchange(read(_workspace(repository, name)), _one)


def list_page(repository: str, *, after: str = "", amount: int) -> Call[Page[OpenWorkspace]]:
    """Returns a page of the workspaces of a repository, by name."""
    return Listing(read(["repositories", repository, "workspaces"], after=after), _page, amount)


def discard(repository: str, name: str) -> Call[None]:
    """Deletes a workspace with its branch."""
    return Exchange(change("DELETE", _workspace(repository, name)), nothing)


def checkpoint(repository: str, name: str, label: str, *, message: str = "") -> Call[Checkpoint]:
    """Commits what the workspace has written, under a label that it has not used yet."""
    body = {"label": label, "message": message}
    request = change("POST", [*_workspace(repository, name), "checkpoints"], body)
    return Exchange(request, _checkpoint)


def restore(repository: str, name: str, checkpoint: str) -> Call[Checkpoint]:
    """Moves a workspace back to one of its checkpoints, or to `source`."""
    request = change("POST", [*_workspace(repository, name), "restore"], {"checkpoint": checkpoint})
    return Exchange(request, _checkpoint)


def undo(repository: str, name: str, operation_id: str = "") -> Call[LoggedOperation]:
    """Undoes a commit, a restore or a reset in a workspace, by default the user's last one."""
    request = change("POST", [*_workspace(repository, name), "undo"], {"operation": operation_id})
    return Exchange(request, logged, keyed=True)


def diff(
    repository: str,
    name: str,
    *,
    prefix: str = "",
    after: str = "",
    delimiter: str = "",
    amount: int,
) -> Call[Page[Change]]:
    """Returns a page of what the workspace has changed since it began."""
    params: dict[str, Any] = {"prefix": prefix, "after": after, "delimiter": delimiter}
    request = read([*_workspace(repository, name), "diff"], **params, include_sides=True)
    return Listing(request, change_page, amount)


def propose(
    repository: str,
    name: str,
    *,
    destination: str = "",
    title: str = "",
    description: str = "",
) -> Call[Proposal]:
    """Commits what the workspace has written, and opens a pull request."""
    body = {"destination": destination, "title": title, "description": description}
    request = change("POST", [*_workspace(repository, name), "proposal"], body)
    return Exchange(request, _proposal)


def _workspace(repository: str, name: str) -> list[str]:
    return ["repositories", repository, "workspaces", name]


def _one(reply: Reply) -> OpenWorkspace:
    return _ONE.decode(reply.body).opened()


def _page(body: bytes) -> tuple[list[OpenWorkspace], Pagination]:
    page = _PAGE.decode(body)
    return [each.opened() for each in page.results], page.pagination


def _checkpoint(reply: Reply) -> Checkpoint:
    return _CHECKPOINT.decode(reply.body)


def _proposal(reply: Reply) -> Proposal:
    return _PROPOSAL.decode(reply.body)
