"""The committer: moves a branch to commits that a plan makes, such as those of its staged changes.

It first seals the staging area, so that new changes go to a new one; then the plan makes the
commits on top of the head; then it moves the branch by compare-and-set. The next change of the
branch is made while that is written, on top of it (see `moves`). If the branch has changed
meanwhile, it starts again from the new head and reuses the tables that the failed attempt wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import msgspec

from anabranch.batching.order import takes_place
from anabranch.errors import Busy, DirtyBranch, NoChanges
from anabranch.keyvalue.contract import Expect, Write
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
from anabranch.versioning.commits.moves import Move, Moves
from anabranch.versioning.commits.proposals import Proposals
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.objects.diff import Differ
from anabranch.versioning.objects.sealing import seal_staged
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard
from anabranch.versioning.staging.extra_writes import collect_extra_writes
from anabranch.versioning.trees.trees import Trees

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
        trees: Trees,
        differ: Differ,
        admission: ChangeAdmission,
        index: HistoryIndex,
        proposals: Proposals,
        clock: Callable[[], float],
    ) -> None:
        self._branches = branches
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._differ = differ
        self._admission = admission
        self._index = index
        self._proposals = proposals
        self._clock = clock
        self._locks = BranchLocks()
        self._moves = Moves()

    def move_branch(self, change: BranchChange[T], plan: CommitPlan[T]) -> T:
        """Moves a branch to the commit that a plan makes, and returns the plan's result.

        The sealed areas are dropped: their changes are in the new commit, or differ in nothing from
        it. Raises what the plan, the examination and the extra writes raise, and Conflict; then
        the branch has not moved, and its staged changes remain.
        """
        if change.examination is not None:
            return self._move_examined(change, plan, change.examination)
        made = self._follow(change, plan) or self._move_alone(change, plan)
        for commit in (*made.earlier, made.commit):
            self._commits.remember(change.repository, commit)
        return made.result

    def _follow(self, change: BranchChange[T], plan: CommitPlan[T]) -> Made[T] | None:
        """Moves a branch on top of the moves whose writes are under way. The lock is held while the
        commits are made, and not while they are written.

        Returns None if the branch has moved otherwise, or one of those writes was not made.
        """
        repository = change.repository
        key = repository.partition, change.branch
        move: Move | None = None
        is_made = False
        try:
            with self._locks.acquire(key) as waited:
                last = self._moves.last(key)
                before = self._await_unless_followed(change, last)
                if before is not None:
                    stored = before.stored
                else:
                    stored = self._prepare(change, waited=waited or last is not None)
                with self._trees.deferring() as tables:
                    try:
                        made, moved, writes, expect = self._make(change, plan, stored, before)
                    except Exception as error:
                        if self._refuses(repository, stored, before, error):
                            raise
                        tables.make_durable()  # a plan may use again what it has written
                        return None
                move = Move(moved, (made.commit, *made.earlier), before)
                self._moves.begin(key, move)
            tables.make_durable()
            if before is not None:
                before.placed.wait()
            with takes_place(move.placed):
                is_made = self._branches.apply(repository, stored, writes, expect)
        finally:
            if move is not None:
                self._moves.end(key, move, is_made=is_made)
        return made if is_made else None

    def _await_unless_followed(self, change: BranchChange[T], last: Move | None) -> Move | None:
        """Returns the move under way on top of which a change is made; None if there is none any
        more, because the change cannot follow it.
        """
        if last is None or self._can_follow(change, last):
            return last
        last.wait()
        return None

    def _refuses(
        self, repository: Repository, stored: StoredBranch, before: Move | None, error: Exception
    ) -> bool:
        """Returns whether what a plan has raised refuses the change. It does not if the branch has
        never had the head that the plan was asked about, or has changed meanwhile.
        """
        if before is not None and not before.wait():
            return False
        return not isinstance(error, NoChanges) or self._drop_ineffective(repository, stored)

    def _can_follow(self, change: BranchChange[T], before: Move) -> bool:
        """Returns whether a change can be made on top of a move under way: no staged change has to
        be sealed for it.
        """
        branch = before.stored.branch
        if before.is_vain() or branch.sealed_tokens:
            return False
        return change.keeps_staged or self._staging.is_empty([branch.staging_token])

    def _prepare(self, change: BranchChange[T], *, waited: bool) -> StoredBranch:
        """Returns the branch of a change, its staged changes sealed unless they are kept."""
        repository, branch, known = change.repository, change.branch, change.known
        if waited or (
            known is not None and self._moves.is_outdated((repository.partition, branch), known)
        ):
            known = None
        if change.keeps_staged:
            return next(self._branches.attempts(repository, branch, known))
        is_staged = change.is_staged and not waited
        return self.seal(repository, branch, known, is_staged=is_staged)

    def _make(
        self,
        change: BranchChange[T],
        plan: CommitPlan[T],
        stored: StoredBranch,
        before: Move | None,
    ) -> tuple[Made[T], StoredBranch, Sequence[Write], Sequence[Expect]]:
        """Returns the commits for a branch with this record, the branch after the move, and its
        writes and conditions.
        """
        under_way = before.under_way() if before else ()
        assumed = [commit for move in under_way for commit in move.commits]
        with self._commits.assuming(change.repository, assumed):
            head = self._commits.get(change.repository, stored.branch.commit_id)
            made = plan.make(change, stored, head)
            newer = stored.branch.sealed_tokens if change.keeps_staged else ()
            return made, *self._writes(change, stored.branch, newer, head, made)

    def _move_alone(self, change: BranchChange[T], plan: CommitPlan[T]) -> Made[T]:
        """Moves a branch while no other thread changes it; repeats that if another process has."""
        repository, branch = change.repository, change.branch
        with self._settled(change):
            prepared = self._prepare(change, waited=True)
            for stored in self._branches.attempts(repository, branch, prepared):
                try:
                    made, _, writes, expect = self._make(change, plan, stored, None)
                except NoChanges:
                    # the sealed changes have no effect: drop them, and do not move the branch
                    if self._drop_ineffective(repository, stored):
                        raise
                    continue
                if self._branches.apply(repository, stored, writes, expect):
                    break
        return made

    @contextmanager
    def _settled(self, change: BranchChange[T]) -> Iterator[None]:
        """Holds the lock of a branch while none of its moves is under way."""
        key = change.repository.partition, change.branch
        with self._locks.acquire(key):
            before = self._moves.last(key)
            if before is not None:
                before.wait()
            yield

    def _drop_ineffective(self, repository: Repository, stored: StoredBranch) -> bool:
        """Drops the sealed areas of a branch; returns False if it has changed meanwhile."""
        if not stored.branch.sealed_tokens:
            return True
        kept = msgspec.structs.replace(stored.branch, sealed_tokens=())
        dropped = discard(stored.branch.sealed_tokens, self._clock())
        writes = [self._branches.write(repository, kept), *dropped]
        return self._branches.apply(repository, stored, writes)

    def _move_examined(
        self, change: BranchChange[T], plan: CommitPlan[T], examination: Examination
    ) -> T:
        """Moves a branch to a commit that was examined. The branch can be changed meanwhile: what
        is staged then remains staged, and if its head moves, the commit is made again.
        """
        repository, branch = change.repository, change.branch
        for number in range(_MAX_EXAMINATIONS):
            with ExitStack() as lock:
                lock.enter_context(self._settled(change))
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
                        lock.enter_context(self._settled(change))
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
            _, writes, expect = self._writes(change, stored.branch, newer, head, made)
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
    ) -> tuple[StoredBranch, Sequence[Write], Sequence[Expect]]:
        """Returns the branch when it has moved to the last commit of a change, the writes that add
        the commits and move it, and their conditions. Of the branch's sealed areas, the `newer`
        ones remain.
        """
        repository, commit = change.repository, made.commit
        extra, expect = collect_extra_writes(change.extra_writes, made.result)
        writes = [self._commits.write(repository, commit), *extra]
        conditions = [*expect, *made.conditions]
        for part in change.move_writes:
            added, required = part.writes_from(head, made.result)
            writes += added
            conditions += required
        writes += [self._commits.write(repository, earlier) for earlier in made.earlier]
        if made.changed_paths:
            writes.append(self._index.write(repository, commit, made.changed_paths))
        moved = msgspec.structs.replace(branch, commit_id=commit.id, sealed_tokens=newer)
        write = self._branches.write(repository, moved)
        dropped = branch.sealed_tokens[len(newer) :]
        writes += [write, *discard(dropped, self._clock())]
        admitted = self._admission.conditions(repository, head, made)
        stored = StoredBranch(moved, write.value or b"")
        return stored, writes, [*conditions, *admitted]

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
