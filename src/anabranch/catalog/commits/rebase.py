"""Use case of rebases: a branch's own commits move on top of another reference."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch.catalog.commits.merge_rules import RequestedRules
from anabranch.catalog.error_messages import reference_errors
from anabranch.catalog.protection import Protection
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.commits.conflict import Resolution
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.rebase import Rebased
from anabranch.versioning.pulls.merged_pulls import MergedPulls
from anabranch.versioning.records import keys
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor

__all__ = ["Rebase"]


class Rebase:
    """Use case of rebases."""

    def __init__(self, core: Core, protection: Protection, rules: RequestedRules) -> None:
        self._core = core
        self._protection = protection
        self._rules = rules

    def rebase(
        self,
        repository: str,
        branch: str,
        onto: str,
        *,
        committer: str | None = None,
        force: bool = False,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
        extra_writes: Sequence[ExtraWritesFor[Rebased]] = (),
    ) -> Rebased:
        """Replays a branch's own commits onto the commit of a reference; `extra_writes` adds
        writes; `strategy`, `resolutions` and `rights` are as for `refs.merge`. Open pull requests
        into the branch whose source it then contains become merged.

        Raises MergeConflict with the paths and the commit that conflict, DirtyBranch, and
        ProtectedBranch: a rebase replaces commits, as a hard reset does.
        """
        core = self._core
        with core.prefetch(("rebase", repository), keys.branch(branch), keys.branch(onto)):
            stored_repository = core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            committer = core.require_committer(committer)
            self._protection.require_unprotected(stored_repository, branch)
            core.branches.read(stored_repository, branch)
            rules = self._rules.read(repository, branch, strategy, resolutions, rights)
            with reference_errors(f"rebase {branch} onto {onto}"):
                target = core.references.commit(stored_repository, onto)
        pulls = _RecordMergedPulls(core.merged_pulls, stored_repository, branch, target.id)
        move = BranchChange(
            repository=stored_repository,
            branch=branch,
            fields=CommitFields(committer),
            extra_writes=extra_writes,
            move_writes=(pulls,),
        )
        return core.rebaser.rebase(move, target, rules=rules)


class _RecordMergedPulls(msgspec.Struct, frozen=True):
    """The pull requests that a rebase merges."""

    pulls: MergedPulls
    repository: Repository
    branch: str
    onto: str

    def writes_from(self, head: Commit, rebased: Rebased, /) -> ExtraWrites:
        """Returns the writes of `MergedPulls.record`."""
        return self.pulls.record(
            self.repository, self.branch, head.id, [self.onto], rebased.head.id
        )
