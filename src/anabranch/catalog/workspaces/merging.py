"""Merges of workspaces: of the commit that was looked at, and of nothing but writable paths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import msgspec

from anabranch.actions.engine import Engine
from anabranch.catalog.pulls.pulls import Pulls
from anabranch.catalog.references.refs import Refs
from anabranch.catalog.workspaces.unattended import AutoMergeRule, require_unattended
from anabranch.errors import Conflict, Denied, Invalid
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.page import MAX_AMOUNT, Page
from anabranch.model.references.writable_paths import may_write
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["WorkspaceMerges"]


class WorkspaceMerges:
    """Merges the proposals of workspaces."""

    def __init__(self, core: Core, engine: Engine, refs: Refs, pulls: Pulls) -> None:
        self._core = core
        self._engine = engine
        self._refs = refs
        self._pulls = pulls

    def destination(self, repository: str, name: str) -> str:
        """Returns the branch that a workspace is proposed for. Raises Invalid if it is not."""
        return self._pulls.get(repository, self._proposed(repository, name)).destination

    def _proposed(self, repository: str, name: str) -> str:
        """Returns the id of a workspace's pull request. Raises Invalid if it has none."""
        stored = self._core.repositories.get(repository)
        pull_id = self._core.workspaces.read(stored, name).workspace.pull_request
        if not pull_id:
            raise Invalid(
                "the workspace is not proposed", kind="not_proposed", hint="Propose it first."
            )
        return pull_id

    def merge(
        self,
        repository: str,
        name: str,
        *,
        committer: str | None = None,
        message: str = "",
        rights: ContentRights | None = None,
    ) -> str:
        """Merges the proposal of a workspace, as `pulls.merge` does; returns the commit's id."""
        return self._pulls.merge(
            *(repository, self._proposed(repository, name)),
            committer=committer,
            message=message,
            rights=rights,
        )

    def merge_unattended(
        self,
        repository: str,
        name: str,
        rules: Sequence[AutoMergeRule],
        *,
        committer: str | None = None,
        message: str = "",
        rights: ContentRights | None = None,
    ) -> str:
        """Merges the proposal of a workspace as its keys may: where a rule lets it through, and if
        all that it changes is writable. Raises Denied otherwise, and Conflict if the branch moves
        meanwhile.
        """
        destination = self.destination(repository, name)
        stored = self._core.repositories.get(repository)
        require_unattended(self._core, self._engine, stored, destination, rules)
        head = self._core.branches.read(stored, name).branch.commit_id
        workspace = self._core.workspaces.read(stored, name).workspace
        own = partial(self._refs.diff, repository, workspace.source_commit, head, two_dot=True)
        _require_writable(own, workspace.writable)
        return self._pulls.merge(
            repository,
            workspace.pull_request,
            committer=committer,
            message=message,
            rights=rights,
            extra_writes=[
                SameHead(self._core, stored, name, head),
                WritableResult(self._core, stored, workspace.writable),
            ],
        )


class _ReadChanges(Protocol):
    def __call__(self, *, after: str, amount: int) -> Page[Change]:
        """Returns a page of changes."""


def _require_writable(read: _ReadChanges, writable: Sequence[str]) -> None:
    """Raises Denied if a change is not one that the keys could have made."""
    after, has_more = "", True
    while has_more:
        page = read(after=after, amount=MAX_AMOUNT)
        for change in page.items:
            if not may_write(writable, change.path):
                raise Denied(
                    "the branch has changes that the workspace may not make",
                    kind="merge_needs_a_person",
                    hint=f"{change.path} comes from elsewhere. Let a person merge it.",
                )
        after, has_more = page.next_offset, page.has_more


class SameHead(msgspec.Struct, frozen=True):
    """The condition of a merge: the workspace has not ended, and is at the commit that was looked
    at.
    """

    core: Core
    repository: Repository
    workspace: str
    head: str

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the condition. Raises Conflict if the branch has moved or expired, and NotFound
        once it is gone.
        """
        stored = self.core.branches.read(self.repository, self.workspace)
        self.core.workspaces.require_own(self.repository, self.workspace)
        if self.core.branches.is_expired(stored.branch):
            raise Conflict(
                "the workspace has expired meanwhile",
                kind="branch_expired",
                hint="Let a person merge it.",
            )
        if stored.branch.commit_id != self.head:
            raise Conflict(
                "the workspace has moved meanwhile", kind="workspace_moved", hint="Try again."
            )
        return (), [stored.unchanged(self.repository)]


class WritableResult(msgspec.Struct, frozen=True):
    """The condition of a merge: its result differs from the destination in writable paths alone,
    whatever the workspace began at, and whichever commit was merged.
    """

    core: Core
    repository: Repository
    writable: Sequence[str]

    def writes_for(self, commit: Commit, /) -> ExtraWrites:
        """Returns no writes. Raises Denied."""
        core = self.core
        head = core.commits.get(self.repository, commit.parents[0])
        before = core.trees.open(self.repository, head.metarange_id)
        merged = core.trees.open(self.repository, commit.metarange_id)
        _require_writable(partial(core.differ.two_dot, before, merged), self.writable)
        return (), ()
