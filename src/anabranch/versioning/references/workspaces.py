"""Workspaces: reads, lists and changes their records, which are written and end with a branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anabranch.errors import NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.caller import current_caller
from anabranch.model.references.branch import Branch
from anabranch.model.references.workspace import (
    MAX_READS,
    Workspace,
    WorkspaceRead,
    WorkspaceReads,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys, references, workspaces
from anabranch.versioning.records.workspaces import WorkspaceKey
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["LiveWorkspace", "StoredWorkspace", "Workspaces"]


def _another_workspace() -> NotFound:
    """Returns the error of a workspace that has ended, where another one has its name."""
    return NotFound(
        "the workspace has ended",
        kind="workspace_not_found",
        hint="There is another one of its name now, which has other keys.",
    )


class StoredWorkspace(NamedTuple):
    """A workspace with the record that it was read from, which compare-and-set compares."""

    workspace: Workspace
    record: bytes

    def replaced_by(self, repository: Repository, workspace: Workspace) -> ExtraWrites:
        """Returns the write of a changed workspace, on condition that it is as it was read."""
        key = keys.workspace(workspace.branch)
        record = workspaces.workspace_bytes(workspace)
        return (
            [Write(repository.partition, key, record)],
            [Expect(repository.partition, key, self.record)],
        )


class LiveWorkspace(NamedTuple):
    """A workspace that an access key has found, with its branch and the name of its repository."""

    repository: str
    workspace: Workspace
    branch: Branch


class Workspaces:
    """The workspaces of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, repository: Repository, branch: str) -> StoredWorkspace:
        """Returns the workspace of a branch. Raises NotFound."""
        raw = self._keyvalue.get(repository.partition, keys.workspace(branch))
        if raw is None:
            raise NotFound(
                "workspace not found",
                kind="workspace_not_found",
                hint="It has ended, or there was none: anabranch workspace list.",
            )
        return StoredWorkspace(workspaces.workspace_from(raw), raw)

    def require_own(self, repository: Repository, branch: str) -> None:
        """Raises NotFound if the caller has the keys of a workspace of a branch, and that has ended
        since the call began: a later workspace or branch of the name is another one.
        """
        caller = current_caller()
        if not caller.workspace_key or caller.workspace != branch:
            return
        if self.read(repository, branch).workspace.access_key_id != caller.workspace_key:
            raise _another_workspace()

    def all(self, repository: Repository, after: str = "") -> Iterator[Workspace]:
        """Yields the workspaces of a repository, by name, after one."""
        start, end = keys.all_workspaces()
        start = keys.workspace(after) + b"\0" if after else start
        for _, raw in self._keyvalue.scan(repository.partition, start, end):
            yield workspaces.workspace_from(raw)

    def find_by_key(self, access_key_id: str) -> LiveWorkspace | None:
        """Returns the workspace of an access key with its branch; None once one of them is gone, or
        its repository.
        """
        found = self._keyvalue.get(keys.WORKSPACE_KEYS, access_key_id.encode("utf-8", "replace"))
        if found is None:
            return None
        place: WorkspaceKey = workspaces.workspace_key_from(found)
        names = [keys.workspace(place.branch), keys.branch(place.branch)]
        raw, branch = self._keyvalue.get_many(place.partition, names)
        if raw is None or branch is None:
            return None
        workspace = workspaces.workspace_from(raw)
        if workspace.access_key_id != access_key_id or not self._exists(place):
            return None
        return LiveWorkspace(place.repository, workspace, references.branch_from(branch))

    def _exists(self, place: WorkspaceKey) -> bool:
        """Returns whether a workspace's repository was not deleted: what it had is still there."""
        raw = self._keyvalue.get(keys.GRAVELER, keys.repository(place.repository))
        return raw is not None and references.repository_from(raw).partition == place.partition

    def creation(self, repository: Repository, workspace: Workspace) -> ExtraWrites:
        """Returns the writes that add a workspace, made with those of its branch."""
        key = keys.workspace(workspace.branch)
        record = Write(repository.partition, key, workspaces.workspace_bytes(workspace))
        writes = [record]
        if workspace.access_key_id:
            writes.append(workspaces.key_write(repository, workspace))
        return writes, [Expect(repository.partition, key, None)]

    def removal(self, repository: Repository, branch: str) -> list[Write]:
        """Returns the writes that remove the workspace of a branch, made with those that delete the
        branch; none if it has no workspace.
        """
        raw = self._keyvalue.get(repository.partition, keys.workspace(branch))
        return workspaces.removal_writes(repository, branch, raw)

    def reads(self, repository: Repository, branch: str) -> WorkspaceReads:
        """Returns what is stored of a workspace's reads."""
        key = keys.workspace_reads(branch)
        return workspaces.reads_from(self._keyvalue.get(repository.partition, key))

    def reads_of_pull(self, repository: Repository, pull_id: str) -> WorkspaceReads:
        """Returns what was read for a pull request."""
        key = keys.pull_reads(pull_id)
        return workspaces.reads_from(self._keyvalue.get(repository.partition, key))

    def with_reads(
        self,
        repository: Repository,
        branch: str,
        reads: Sequence[WorkspaceRead],
        left_out: int,
        access_key_id: str,
    ) -> ExtraWrites:
        """Returns the write that adds reads to those of the workspace with an access key, on
        condition that it still has those that it has now; nothing if all are known. Raises NotFound
        once it has ended.
        """
        workspace = self.read(repository, branch)
        if workspace.workspace.access_key_id != access_key_id:
            raise _another_workspace()
        key, partition = keys.workspace_reads(branch), repository.partition
        raw = self._keyvalue.get(partition, key)
        stored = workspaces.reads_from(raw)
        known = set(stored.reads)
        new = [each for each in reads if each not in known]
        if not new and not left_out:
            return (), ()
        kept = (*stored.reads, *new)
        dropped = max(len(kept) - MAX_READS, 0)
        record = workspaces.reads_bytes(
            WorkspaceReads(kept[:MAX_READS], stored.left_out + left_out + dropped)
        )
        return (
            [Write(partition, key, record)],
            [
                Expect(partition, key, raw),
                Expect(partition, keys.workspace(branch), workspace.record),
            ],
        )

    def reads_kept(self, repository: Repository, branch: str, pull_id: str) -> ExtraWrites:
        """Returns the write that keeps the reads of a workspace with its pull request."""
        raw = self._keyvalue.get(repository.partition, keys.workspace_reads(branch))
        return [Write(repository.partition, keys.pull_reads(pull_id), raw)] if raw else [], ()
