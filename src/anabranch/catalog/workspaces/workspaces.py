"""Use cases of workspaces: create, get, list, checkpoint, restore, undo, diff, propose, discard."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.commits.commits import Commits
from anabranch.catalog.protection import Protection
from anabranch.catalog.pulls.pulls import Pulls
from anabranch.catalog.references.branches import Branches
from anabranch.catalog.references.refs import Refs
from anabranch.catalog.references.undo import UndoOperations
from anabranch.catalog.workspaces.checkpoints import (
    CheckpointAddition,
    check_label,
    find_checkpoint,
)
from anabranch.catalog.workspaces.creation import WorkspaceCreation
from anabranch.catalog.workspaces.proposals import (
    ProposalAddition,
    already_proposed,
    describe,
    title_of,
)
from anabranch.catalog.workspaces.reads import ReadRecorder
from anabranch.errors import Invalid, NoChanges
from anabranch.keyvalue.contract import Write
from anabranch.model.caller import Principal, current_caller
from anabranch.model.commits.change import Change
from anabranch.model.page import Page, take_page
from anabranch.model.pull_request import PullRequest
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace import Checkpoint, OpenWorkspace, Workspace
from anabranch.model.references.workspace_request import WorkspaceRequest, check_request
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import AdmitCommits
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Workspaces", "new_name"]

_MAX_WALKED = 10_000
_RANDOM_BYTES = 8


class Workspaces:
    """Use cases of workspaces. `clock` returns seconds since 1970."""

    def __init__(
        self,
        core: Core,
        branches: Branches,
        commits: Commits,
        refs: Refs,
        pulls: Pulls,
        protection: Protection,
        operations: UndoOperations,
        clock: Callable[[], float],
    ) -> None:
        self.reads = ReadRecorder(core)
        self._core = core
        self._branches = branches
        self._commits = commits
        self._refs = refs
        self._pulls = pulls
        self._protection = protection
        self._operations = operations
        self._clock = clock

    def create(
        self,
        repository: str,
        request: WorkspaceRequest,
        *,
        creator: Principal | None = None,
        access_key_id: str = "",
        key_check: str = "",
    ) -> OpenWorkspace:
        """Creates a branch with the record of a workspace, in one step. The creator is by default
        the current caller. With an access key and its check, the key's pair and token reach the
        workspace.

        Raises what the creation of a branch raises, and Invalid for a wrong request.
        """
        check_request(request)
        stored_repository = self._core.repositories.get(repository)
        caller = current_caller()
        now = self._clock()
        creation = WorkspaceCreation(
            workspaces=self._core.workspaces,
            repository=stored_repository,
            request=request,
            creator=creator or caller.principals[0],
            created_at=int(now),
            access_key_id=access_key_id,
            key_check=key_check,
        )
        branch = self._branches.create(
            repository,
            request.branch or new_name(),
            request.source,
            expires_at=int(now) + request.seconds,
            extra_writes=[creation],
        )
        return OpenWorkspace(creation.workspace(branch), branch, is_expired=False)

    def get(self, repository: str, name: str) -> OpenWorkspace:
        """Returns a workspace. Raises NotFound, also once its branch is gone."""
        return self._read(self._core.repositories.get(repository), name)

    def discard(self, repository: str, name: str) -> None:
        """Deletes a workspace with its branch: its keys are refused from then on."""
        self.get(repository, name)
        self._branches.delete(repository, name)

    def checkpoint(
        self,
        repository: str,
        name: str,
        label: str,
        *,
        committer: str | None = None,
        message: str = "",
        metadata: Mapping[str, str] = MappingProxyType({}),
    ) -> Checkpoint:
        """Commits what the workspace has written, under a label that it has not used yet; without
        anything new, the label is of the last commit. Raises Invalid for a label that is empty or
        too long, and AlreadyExists for a used one.
        """
        stored = self._core.repositories.get(repository)
        check_writable(stored, force=False)
        opened = self._read(stored, name)
        check_label(opened.workspace, label)
        addition = CheckpointAddition(self._core, stored, name, label, int(self._clock()))
        fields = {"workspace": name, "checkpoint": label, "run_id": opened.workspace.run_id}
        try:
            commit = self._commits.commit(
                repository,
                name,
                message=message or label,
                committer=committer,
                metadata={key: value for key, value in fields.items() if value} | dict(metadata),
                extra_writes=[addition],
            )
        except NoChanges:
            return self._label_head(stored, name, addition)
        return addition.checkpoint(commit.id)

    def _label_head(
        self, repository: Repository, name: str, addition: CheckpointAddition
    ) -> Checkpoint:
        for stored in self._core.branches.attempts(repository, name):
            writes, expect = addition.writes_at(stored.branch.commit_id)
            if self._core.branches.apply(repository, stored, writes, expect):
                break
        return addition.checkpoint(stored.branch.commit_id)

    def restore(self, repository: str, name: str, checkpoint: str) -> Checkpoint:
        """Moves a workspace back to one of its checkpoints, by label or by commit, or to `source`,
        where it began; what it has written since is dropped. Raises NotFound for another text.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=False)
        opened = self._read(stored_repository, name)
        self._protection.require_unprotected(stored_repository, name)
        found = find_checkpoint(opened.workspace, checkpoint)
        admitted: list[ExtraWritesFor[Branch]] = [
            AdmitCommits(self._core.pins, stored_repository, [found.commit_id]),
            self._core.protection.admission(stored_repository, name),
        ]
        for stored in self._core.branches.attempts(stored_repository, name):
            extra, expect = collect_extra_writes(admitted, stored.branch)
            writes = [self._moved(stored_repository, stored, found.commit_id), *extra]
            if self._core.branches.apply(stored_repository, stored, writes, expect):
                break
        return found

    def undo(
        self,
        repository: str,
        name: str,
        operation_id: str = "",
        *,
        actor: Actor | None = None,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Undoes a commit, a restore or a reset in a workspace, and returns the operation: by
        default the caller's last one that is not undone; what a restore has dropped returns.

        Raises as `UndoOperations.undo_in_workspace` does.
        """
        return self._operations.undo_in_workspace(
            repository, name, operation_id, actor=actor, extra_writes=extra_writes
        )

    def diff(
        self,
        repository: str,
        name: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> Page[Change]:
        """Returns a page of what the workspace has changed since it began, also without a commit:
        of `readable` objects, of all if that is None.
        """
        workspace = self.get(repository, name).workspace
        return self._refs.diff(
            repository,
            workspace.source_commit,
            f"{name}$",
            two_dot=True,
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
            readable=readable,
        )

    def propose(
        self,
        repository: str,
        name: str,
        *,
        destination: str = "",
        title: str = "",
        description: str = "",
        author: str | None = None,
        username: str = "",
        committer: str | None = None,
    ) -> PullRequest:
        """Commits what the workspace has written, and opens a pull request into `destination`, by
        default the branch that it began at. The description says what it is for, and of which run.

        Raises Conflict if there is one already, Invalid without a branch to merge into, NoChanges.
        """
        stored = self._core.repositories.get(repository)
        workspace = self._read(stored, name).workspace
        if workspace.pull_request:
            raise already_proposed(workspace)
        target = destination or self._source_branch(stored, workspace)
        label = f"proposal {len(workspace.checkpoints) + 1}"
        made = self.checkpoint(
            repository, name, label, committer=committer, message=title or title_of(workspace)
        )
        if made.commit_id == workspace.source_commit:
            raise NoChanges("the workspace has changed nothing")
        return self._pulls.create(
            repository,
            title=title or title_of(workspace),
            description=describe(workspace, description),
            source=name,
            destination=target,
            author=self._core.require_committer(committer) if author is None else author,
            username=username,
            extra_writes=[ProposalAddition(self._core, stored, name, self.reads)],
        )

    def has_commit(self, repository: str, name: str, commit_id: str) -> bool:
        """Returns whether a commit was made in the workspace, or is where it began."""
        stored = self._core.repositories.get(repository)
        opened = self._read(stored, name)
        workspace = opened.workspace
        if commit_id in {workspace.source_commit, *(c.commit_id for c in workspace.checkpoints)}:
            return True
        current, found = opened.branch.commit_id, False
        for _ in range(_MAX_WALKED):
            if current in ("", workspace.source_commit):
                # a branch that was moved elsewhere leads to history that never was the workspace's
                return found and bool(current)
            found = found or current == commit_id
            parents = self._core.commits.get(stored, current).parents
            current = parents[0] if parents else ""
        return False

    def _read(self, repository: Repository, name: str) -> OpenWorkspace:
        workspace = self._core.workspaces.read(repository, name).workspace
        return self._opened(workspace, self._core.branches.read(repository, name).branch)

    def _opened(self, workspace: Workspace, branch: Branch) -> OpenWorkspace:
        return OpenWorkspace(workspace, branch, self._core.branches.is_expired(branch))

    def _moved(self, repository: Repository, stored: StoredBranch, commit_id: str) -> Write:
        """Returns the write that moves a branch to a commit without its staged changes, which the
        operation log keeps.
        """
        branch = msgspec.structs.replace(stored.branch, commit_id=commit_id)
        emptied = self._core.branches.empty(repository, branch)
        return self._core.branches.write(repository, emptied)

    def _source_branch(self, repository: Repository, workspace: Workspace) -> str:
        if self._core.branches.find(repository, workspace.source) is not None:
            return workspace.source
        raise Invalid(
            f"{workspace.source} is no branch that the workspace can be merged into",
            kind="no_destination",
            hint="Name the branch that it is proposed to.",
        )

    def list(self, repository: str, *, after: str = "", amount: int) -> Page[OpenWorkspace]:
        """Returns a page of the workspaces of a repository, by name."""
        stored = self._core.repositories.get(repository)
        opened = (
            self._opened(each, found.branch)
            for each in self._core.workspaces.all(stored, after)
            if (found := self._core.branches.find(stored, each.branch)) is not None
        )
        return take_page(opened, amount, lambda each: each.workspace.branch)


def new_name() -> str:
    """Returns a random name for a workspace and its branch."""
    return f"ws-{secrets.token_hex(_RANDOM_BYTES)}"
