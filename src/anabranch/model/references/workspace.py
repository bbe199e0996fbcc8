"""Workspaces: branches for a program that runs unattended, with keys that reach nothing else."""

from __future__ import annotations

import msgspec

from anabranch.model.caller import Principal
from anabranch.model.references.branch import Branch
from anabranch.model.secret import Secret

__all__ = [
    "MAX_READS",
    "Checkpoint",
    "OpenWorkspace",
    "Workspace",
    "WorkspaceKeys",
    "WorkspaceRead",
    "WorkspaceReads",
]

MAX_READS = 10_000
"""The most reads that are kept of a workspace."""


class Checkpoint(msgspec.Struct, frozen=True):
    """A commit of a workspace with a label; `created_at` in seconds since 1970."""

    label: str
    commit_id: str
    created_at: int


class Workspace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workspace, which has the name of its `branch` and ends with it. Times are in seconds since
    1970; when the workspace expires is in the record of the branch.

    It begins at the commit `source_commit` of the reference `source`. Its keys read the paths that
    match a pattern of `readable`, all if there is none, and write those that match one of
    `writable`; they may do no more than the `creator`. `key_check` proves that the installation
    has issued the key pair `access_key_id`; both are empty for a workspace without keys.
    `pull_request` is the id of its proposal.
    """

    branch: str
    source: str
    source_commit: str
    created_at: int
    creator: Principal
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    purpose: str = ""
    run_id: str = ""
    metadata: dict[str, str] = {}
    checkpoints: tuple[Checkpoint, ...] = ()
    pull_request: str = ""
    access_key_id: str = ""
    key_check: str = ""


class WorkspaceRead(msgspec.Struct, frozen=True):
    """A path, and the commit that the branch was at when the path was read, or that was read. What
    the branch had staged then counts as that of its commit.
    """

    path: str
    commit_id: str


class WorkspaceReads(msgspec.Struct, frozen=True):
    """What the keys of a workspace have read, at most MAX_READS; `left_out` further ones."""

    reads: tuple[WorkspaceRead, ...] = ()
    left_out: int = 0


class WorkspaceKeys(msgspec.Struct, frozen=True):
    """The keys of a new workspace on a server."""

    token: Secret
    access_key_id: str
    secret: Secret


class OpenWorkspace(msgspec.Struct, frozen=True):
    """A workspace and its branch, whose record says when it expires; the keys of a new one."""

    workspace: Workspace
    branch: Branch
    is_expired: bool
    keys: WorkspaceKeys | None = None

    @property
    def state(self) -> str:
        """`open`, `proposed` once it has a pull request, or `expired`."""
        if self.is_expired:
            return "expired"
        return "proposed" if self.workspace.pull_request else "open"
