"""The stored form of workspaces, and of the keys that find them.

    partition                 key                     value
    of the repository         workspaces/BRANCH       the workspace, as JSON
    anabranch-workspace-keys  ACCESS_KEY_ID           the repository and the branch, as JSON
    of the repository         workspace-reads/BRANCH  what its keys have read, as JSON
    of the repository         pull-reads/ID           the same of the pull request that it became

The second and the third are removed with the first; without the first, a key finds nothing.
"""

from __future__ import annotations

import msgspec

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Write
from anabranch.model.references.workspace import Workspace, WorkspaceReads
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys

__all__ = [
    "WorkspaceKey",
    "key_write",
    "reads_bytes",
    "reads_from",
    "workspace_bytes",
    "workspace_from",
    "workspace_key_from",
]


class WorkspaceKey(msgspec.Struct, frozen=True):
    """Where the workspace of an access key is: the name and the partition of its repository, and
    its branch.
    """

    repository: str
    partition: str
    branch: str


_ENCODER = msgspec.json.Encoder()
_WORKSPACES = msgspec.json.Decoder(Workspace)
_READS = msgspec.json.Decoder(WorkspaceReads)
_KEYS = msgspec.json.Decoder(WorkspaceKey)


def workspace_bytes(workspace: Workspace) -> bytes:
    """Returns the record of a workspace."""
    return _ENCODER.encode(workspace)


def workspace_from(raw: bytes) -> Workspace:
    """Returns the workspace of a record. Raises Corrupt."""
    try:
        return _WORKSPACES.decode(raw)
    except msgspec.DecodeError as error:
        raise Corrupt(f"the record of a workspace cannot be read: {error}") from error


def reads_bytes(reads: WorkspaceReads) -> bytes:
    """Returns the record of what a workspace has read."""
    return _ENCODER.encode(reads)


def reads_from(raw: bytes | None) -> WorkspaceReads:
    """Returns what the workspace of a record has read, nothing without a record. Raises Corrupt."""
    if raw is None:
        return WorkspaceReads()
    try:
        return _READS.decode(raw)
    except msgspec.DecodeError as error:
        raise Corrupt(f"the record of a workspace's reads cannot be read: {error}") from error


def workspace_key_from(raw: bytes) -> WorkspaceKey:
    """Returns where the workspace of an access key is. Raises Corrupt."""
    try:
        return _KEYS.decode(raw)
    except msgspec.DecodeError as error:
        raise Corrupt(f"the record of a workspace's key cannot be read: {error}") from error


def key_write(repository: Repository, workspace: Workspace) -> Write:
    """Returns the write that lets the access key of a workspace find it."""
    place = WorkspaceKey(repository.id, repository.partition, workspace.branch)
    return Write(keys.WORKSPACE_KEYS, workspace.access_key_id.encode(), _ENCODER.encode(place))
