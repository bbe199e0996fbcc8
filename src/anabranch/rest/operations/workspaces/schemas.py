"""Schemas of workspaces."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from anabranch.model.page import Page
from anabranch.model.references.workspace import Checkpoint as ModelCheckpoint
from anabranch.model.references.workspace import OpenWorkspace
from anabranch.rest.protocol.body import Body
from anabranch.rest.schemas.pagination import Pagination, to_pagination

__all__ = [
    "Checkpoint",
    "CheckpointCreation",
    "MergeCreation",
    "Merged",
    "NewWorkspace",
    "Proposal",
    "ProposalCreation",
    "Restoration",
    "Workspace",
    "WorkspaceCreation",
    "WorkspaceList",
    "to_checkpoint",
    "to_new_workspace",
    "to_workspace",
    "workspace_list",
]

_PATTERN = "patterns of paths: `*` is any text without a slash, `**` any text"
_TIME = Meta(description="in seconds since 1970")


class WorkspaceCreation(Body, frozen=True, kw_only=True):
    """A workspace to create at a reference."""

    source: str
    expires: Annotated[str, Meta(description="how long it lives, such as 1h or 7d")] = "24h"
    readable: Annotated[
        list[str], Meta(description=f"what its keys read: {_PATTERN}; all paths without one")
    ] = field(default_factory=list)
    writable: Annotated[
        list[str], Meta(description=f"what its keys write: {_PATTERN}; nothing without one")
    ] = field(default_factory=list)
    purpose: str = ""
    run_id: Annotated[str, Meta(description="the run that it is for, of a scheduler or a log")] = ""
    metadata: dict[str, str] = field(default_factory=dict)
    branch: Annotated[str, Meta(description="its name; a random one without it")] = ""


class CheckpointCreation(Body, frozen=True, kw_only=True):
    """A commit of what the workspace has written, with a label."""

    label: str
    message: str = ""


class Restoration(Body, frozen=True, kw_only=True):
    """The checkpoint to return to: a label, a commit, or `source`."""

    checkpoint: str


class UndoneInWorkspace(Body, frozen=True, kw_only=True):
    """The operation to undo by its id, or the beginning of it: by default the last one that the
    user, or the keys of the workspace, have made, and that is not undone.
    """

    operation: str = ""


class ProposalCreation(Body, frozen=True, kw_only=True):
    """A pull request of the workspace; `destination` is by default the branch it began at."""

    destination: str = ""
    title: str = ""
    description: str = ""


class MergeCreation(Body, frozen=True, kw_only=True):
    """A merge of the workspace's proposal."""

    message: str = ""


class Merged(msgspec.Struct, frozen=True):
    """The commit of a merge."""

    commit_id: str


class Checkpoint(msgspec.Struct, frozen=True):
    """A labelled commit."""

    label: str
    commit_id: str
    created_at: Annotated[int, _TIME]


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace; `id` is the name of its branch."""

    id: str
    branch: str
    state: Annotated[str, Meta(description="open, proposed or expired")]
    source: str
    source_commit: str
    commit_id: Annotated[str, Meta(description="the last commit of the branch")]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    purpose: str
    run_id: str
    metadata: dict[str, str]
    creator: str
    created_at: Annotated[int, _TIME]
    expires_at: Annotated[int, _TIME]
    checkpoints: list[Checkpoint]
    pull_request: Annotated[str, Meta(description="the id of its proposal, empty without one")]


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Where programs find the objects of a workspace."""

    lakefs: str
    s3: str
    fsspec: str
    rest: str


class NewWorkspace(Workspace, frozen=True, kw_only=True):
    """A new workspace with its keys, which are shown only now."""

    token: Annotated[str, Meta(description="for `Authorization: Bearer`")]
    access_key_id: str
    secret_access_key: str
    addresses: Addresses


class WorkspaceList(msgspec.Struct, frozen=True):
    """A page of workspaces."""

    pagination: Pagination
    results: list[Workspace]


class Proposal(msgspec.Struct, frozen=True):
    """The pull request of a workspace."""

    id: str


def to_checkpoint(checkpoint: ModelCheckpoint) -> Checkpoint:
    """Returns the schema of a checkpoint."""
    return Checkpoint(checkpoint.label, checkpoint.commit_id, checkpoint.created_at)


def to_workspace(opened: OpenWorkspace) -> Workspace:
    """Returns the schema of a workspace."""
    return Workspace(**_fields(opened))


def to_new_workspace(
    opened: OpenWorkspace, repository: str, *, token: str, access_key_id: str, secret: str
) -> NewWorkspace:
    """Returns the schema of a new workspace of a repository."""
    branch = opened.workspace.branch
    return NewWorkspace(
        **_fields(opened),
        token=token,
        access_key_id=access_key_id,
        secret_access_key=secret,
        addresses=Addresses(
            lakefs=f"lakefs://{repository}/{branch}/",
            s3=f"s3://{repository}/{branch}/",
            fsspec=f"anabranch://{repository}/{branch}/",
            rest=f"/api/v1/repositories/{repository}/refs/{branch}/objects",
        ),
    )


def workspace_list(page: Page[OpenWorkspace]) -> WorkspaceList:
    """Returns the schema of a page of workspaces."""
    return WorkspaceList(to_pagination(page), [to_workspace(each) for each in page.items])


def _fields(opened: OpenWorkspace) -> dict[str, Any]:
    workspace = opened.workspace
    return {
        "id": workspace.branch,
        "branch": workspace.branch,
        "state": opened.state,
        "source": workspace.source,
        "source_commit": workspace.source_commit,
        "commit_id": opened.branch.commit_id,
        "readable": workspace.readable,
        "writable": workspace.writable,
        "purpose": workspace.purpose,
        "run_id": workspace.run_id,
        "metadata": workspace.metadata,
        "creator": workspace.creator.username,
        "created_at": workspace.created_at,
        "expires_at": opened.branch.expires_at,
        "checkpoints": [to_checkpoint(each) for each in workspace.checkpoints],
        "pull_request": workspace.pull_request,
    }
