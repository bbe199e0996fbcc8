"""The committer: moves a branch to commits that a plan makes, such as those of its staged changes.

It first seals the staging area, so that new changes go to a new one; then the plan makes the
commits on top of the head; then it moves the branch by compare-and-set. If the branch has changed
meanwhile, it starts again from the new head and reuses the tables that the failed attempt wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import msgspec

from anabranch.errors import Busy, DirtyBranch, NoChanges
from anabranch.keyvalue.contract import Write
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import (
    BranchChange,
    CommitPlan,
    Examination,
    Made,
)
from anabranch.versioning.commits.branch_locks import BranchLocks
from anabranch.versioning.commits.change_admission import ChangeAdmission
from anabranch.versioning.commits.proposals import Proposals
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.objects.diff import Differ
from anabranch.versioning.objects.sealing import seal_staged
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard
from anabranch.versioning.staging.extra_writes import ExtraWrites, collect_extra_writes

__all__ = ["Committer"]

T = TypeVar("T")

_MAX_EXAMINATIONS = 10
_UNLOCKED_EXAMINATIONS = 3
"""After so many, other changes of the branch in this process wait, so that the next succeeds."""

_DIRTY = "uncommitted changes (dirty branch)"


class Committer:
    """Moves branches to the commits that plans make. `clock` returns seconds since 1970."""

    def __init__(
        self,
        branches: Branches,
        commits: Commits,
        staging: Staging,
        differ: Differ,
        admission: ChangeAdmission,
        index: HistoryIndex,
        proposals: Proposals,
        clock: Callable[[], float],
    ) -> None:
        self._branches = branches
        self._commits = commits
        self._staging = staging
        self._differ = differ
        self._admission = admission
        self._index = index
        self._proposals = proposals
        self._clock = clock
        self._locks = BranchLocks()

    def move_branch(self, change: BranchChange[T], plan: CommitPlan[T]) -> T:
        """Moves a branch to the commit that a plan makes, and returns the plan's result.

        The sealed areas are dropped: their changes are in the new commit, or differ in nothing from
        it. Raises what the plan, the examination and the extra writes raise, and Conflict; then
        the branch has not moved, and its staged changes remain.
        """
        if change.examination is not None:
            return self._move_examined(change, plan, change.examination)
        repository, branch = change.repository, change.branch
        with self._locks.acquire((repository.partition, branch)) as waited:
            known = None if waited else change.known
            if not change.keeps_staged:
                is_staged = change.is_staged and not waited
                known = self.seal(repository, branch, known, is_staged=is_staged)
            for stored in self._branches.attempts(repository, branch, known):
                head = self._commits.get(repository, stored.branch.commit_id)
                try:
                    made = plan.make(change, stored, head)
                except NoChanges:
                    # the sealed changes have no effect: drop them, and do not move the branch
                    if self._drop_ineffective(repository, stored):
                        raise
                    continue
                newer = stored.branch.sealed_tokens if change.keeps_staged else ()
                writes, expect = self._writes(change, stored.branch, newer, head, made)
                if self._branches.apply(repository, stored, writes, expect):
                    break
        self._commits.remember(repository, made.commit)
        return made.result

    def _drop_ineffective(self, repository: Repository, stored: StoredBranch) -> bool:
        """Drops the sealed areas of a branch; returns False if it has changed meanwhile."""
        if not stored.branch.sealed_tokens:
            return True
        writes = self._drop_sealed(repository, stored.branch, ())
        return self._branches.apply(repository, stored, writes)

    def _move_examined(
        self, change: BranchChange[T], plan: CommitPlan[T], examination: Examination
    ) -> T:
        """Moves a branch to a commit that was examined. The branch can be changed meanwhile: what
        is staged then remains staged, and if its head moves, the commit is made again.
        """
        repository, branch = change.repository, change.branch
        key = repository.partition, branch
        for number in range(_MAX_EXAMINATIONS):
            with ExitStack() as lock:
                lock.enter_context(self._locks.acquire(key))
                before = self._read(change).branch
                head = self._commits.get(repository, before.commit_id)
                made = plan.make(change, StoredBranch(before, b""), head)
                keeps_lock = number >= _UNLOCKED_EXAMINATIONS
                if not keeps_lock:
                    lock.close()
                proposal = self._proposals.store(repository, made.commit)
                try:
                    examination.examine(made.commit, head)
                    if not keeps_lock:
                        lock.enter_context(self._locks.acquire(key))
                    moved = self._move_from(change, before, head, made)
                finally:
                    self._proposals.remove(proposal)
            if moved:
                self._commits.remember(repository, made.commit)
                return made.result
        raise Busy(
            f"the branch {branch} has moved {_MAX_EXAMINATIONS} times while hooks were running",
            kind="too_many_tries",
        )

    def _move_from(
        self, change: BranchChange[T], before: Branch, head: Commit, made: Made[T]
    ) -> bool:
        """Moves a branch to a commit if its head is still that of `before`, and the changes that
        were sealed then are still the oldest; returns whether it did.
        """
        repository = change.repository
        sealed = () if change.keeps_staged else before.sealed_tokens
        for stored in self._branches.attempts(repository, before.id):
            if change.keeps_staged and stored.branch.tokens != before.tokens:
                return False  # the plan has looked into those that there were
            newer = stored.branch.sealed_tokens[: len(stored.branch.sealed_tokens) - len(sealed)]
            same_head = stored.branch.commit_id == before.commit_id
            if not same_head or (*newer, *sealed) != stored.branch.sealed_tokens:
                return False
            writes, expect = self._writes(change, stored.branch, newer, head, made)
            if self._branches.apply(repository, stored, writes, expect):
                break
            if made.conditions:
                return False  # one may not hold any more, which the plan tells
        return True

    def _writes(
        self,
        change: BranchChange[T],
        branch: Branch,
        newer: tuple[str, ...],
        head: Commit,
        made: Made[T],
    ) -> ExtraWrites:
        """Returns the writes that add the commits of a change and move a branch to the last, and
        their conditions. Of the branch's sealed areas, the `newer` ones remain.
        """
        repository, commit = change.repository, made.commit
        extra, expect = collect_extra_writes(change.extra_writes, made.result)
        writes = [self._commits.write(repository, commit), *extra]
        writes += [self._commits.write(repository, earlier) for earlier in made.earlier]
        if made.changed_paths:
            writes.append(self._index.write(repository, commit, made.changed_paths))
        moved = msgspec.structs.replace(branch, commit_id=commit.id)
        writes += self._drop_sealed(repository, moved, newer)
        admitted = self._admission.conditions(repository, head, made)
        return writes, [*expect, *made.conditions, *admitted]

    def _drop_sealed(
        self, repository: Repository, branch: Branch, newer: tuple[str, ...]
    ) -> list[Write]:
        """Returns the writes that store a branch without its sealed areas but the `newer` ones."""
        kept = msgspec.structs.replace(branch, sealed_tokens=newer)
        dropped = discard(branch.sealed_tokens[len(newer) :], self._clock())
        return [self._branches.write(repository, kept), *dropped]

    def _read(self, change: BranchChange[T]) -> StoredBranch:
        """Returns the branch of a change, its staged changes sealed unless they are kept."""
        if change.keeps_staged:
            return self._branches.read(change.repository, change.branch)
        return self.seal(change.repository, change.branch)

    def require_clean(
        self,
        repository: Repository,
        branch: Branch,
        message: str = _DIRTY,
    ) -> None:
        """Raises DirtyBranch if a sealed change differs from the branch's head."""
        if self._differ.is_dirty(repository, branch.commit_id, branch.sealed_tokens):
            raise DirtyBranch(message)

    def require_unstaged(self, repository: Repository, branch: Branch) -> None:
        """Raises DirtyBranch if a staged change, sealed or not, differs from the branch's head."""
        if self._differ.is_dirty(repository, branch.commit_id, branch.tokens):
            raise DirtyBranch(_DIRTY)

    def seal(
        self,
        repository: Repository,
        branch: str,
        known: StoredBranch | None = None,
        *,
        is_staged: bool = False,
    ) -> StoredBranch:
        """Seals the active staging area unless it is empty; returns the branch afterwards. `known`
        and `is_staged` are as for `BranchChange`.
        """
        return seal_staged(
            *(self._branches, self._staging, repository, branch, known), is_staged=is_staged
        )
