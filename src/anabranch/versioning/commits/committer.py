"""The committer: turns a branch's staged changes into a tree and a commit, and moves the branch.

It first seals the staging area, so that new changes go to a new one; then it applies the sealed
changes to the head's tree; then it moves the branch by compare-and-set. If the branch has changed
meanwhile, it starts again from the new head and reuses the tables that the failed attempt wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Busy, DirtyBranch, Gone, NoChanges, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_locks import BranchLocks
from anabranch.versioning.commits.proposals import Proposals
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.garbage.tree_admission import TreeAdmission
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.objects.diff import Differ
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard
from anabranch.versioning.staging.extra_writes import (
    ExtraWrites,
    ExtraWritesFor,
    collect_extra_writes,
    combine,
)
from anabranch.versioning.trees.tree_addresses import Importable, TreeAddresses
from anabranch.versioning.trees.trees import Trees

__all__ = ["Committer", "Examine"]

Examine = Callable[[Commit, Commit], None]
"""Receives a commit that a branch is about to move to, and the branch's head. Raises to refuse it.
"""

_MAX_EXAMINATIONS = 10
_UNLOCKED_EXAMINATIONS = 3
"""After so many, other changes of the branch in this process wait, so that the next succeeds."""

_DIRTY = "uncommitted changes (dirty branch)"


class Committer:
    """Moves branches: to commits of their staged changes, and to commits made elsewhere.

    `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        branches: Branches,
        commits: Commits,
        staging: Staging,
        trees: Trees,
        differ: Differ,
        admission: TreeAdmission,
        swept: SweptTrees,
        addresses: TreeAddresses,
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
        self._swept = swept
        self._addresses = addresses
        self._index = index
        self._proposals = proposals
        self._clock = clock
        self._locks = BranchLocks()

    def commit(
        self,
        repository: Repository,
        branch: str,
        *,
        committer: str,
        message: str,
        metadata: Mapping[str, str],
        date: int | None = None,
        allow_empty: bool = False,
        source_metarange: str = "",
        importable: Importable | None = None,
        since: int | None = None,
        known: StoredBranch | None = None,
        is_staged: bool = False,
        extra_writes: ExtraWritesFor[Commit] | None = None,
        examine: Examine | None = None,
    ) -> Commit:
        """Commits the staged changes of a branch or, given `source_metarange`, that tree. `known`
        is the branch, if the caller has read it already, and `is_staged` whether it has seen
        changes in its active staging area; `extra_writes` adds writes to the
        commit's; `since` is the number of sweeps that had begun when the tree's entries were read,
        if known.

        Raises NoChanges when the tree equals the head's (unless `allow_empty`), DirtyBranch when
        changes are staged and a source metarange is given, NotFound when that metarange is not in
        the repository's store, and Denied when it adds an address that no object of the repository
        may have (kind address_forbidden) or that is not `importable` (kind
        insufficient_permissions).
        """
        checked = ""
        changed = b""

        def record_changed(commit: Commit) -> ExtraWrites:
            return [self._index.write(repository, commit, changed)] if changed else [], []

        def make(stored: StoredBranch, head: Commit) -> Commit:
            if source_metarange:
                self.require_clean(
                    repository,
                    stored.branch,
                    "cannot use source MetaRange on a branch with uncommitted changes",
                )
                nonlocal checked
                metarange_id = checked
                if not checked:  # check once, not at each attempt
                    metarange_id = self._require_tree(
                        repository, head.metarange_id, source_metarange, importable
                    )
                    checked = metarange_id
            else:
                nonlocal changed
                metarange_id, changed = self._apply_staged(repository, stored.branch, head)
            if metarange_id == head.metarange_id and not allow_empty:
                raise NoChanges("commit: no changes")
            return self._commits.make(
                committer=committer,
                message=message,
                metarange_id=metarange_id or self._trees.write_empty(repository),
                metadata=metadata,
                parents=[head],
                date=date,
            )

        return self.move_branch(
            *(repository, branch, make, combine(extra_writes, record_changed), known),
            trusts_tree=not source_metarange,
            since=since,
            is_staged=is_staged,
            examine=examine,
        )

    def _require_tree(
        self,
        repository: Repository,
        head: str,
        metarange_id: str,
        importable: Importable | None,
    ) -> str:
        """Returns the id of a tree that a client has named, if the repository's store has it and
        its addresses are admitted on top of the tree `head`.

        Raises Invalid for a malformed id, NotFound, Denied.
        """
        table_address(repository.storage_namespace, metarange_id)
        try:
            self._addresses.require_admitted(repository, head, metarange_id, importable)
            return self._trees.open(repository, metarange_id).metarange_id
        except Gone as error:
            raise NotFound(
                f"the tree {metarange_id} is not in the repository's store",
                kind="metarange_not_found",
            ) from error

    def move_branch(
        self,
        repository: Repository,
        branch: str,
        make: Callable[[StoredBranch, Commit], Commit],
        extra_writes: ExtraWritesFor[Commit] | None = None,
        known: StoredBranch | None = None,
        *,
        trusts_tree: bool = True,
        since: int | None = None,
        is_staged: bool = False,
        examine: Examine | None = None,
    ) -> Commit:
        """Moves a branch to the commit that `make` returns, and returns that commit.

        `make` receives the branch, with all its staged changes sealed, and its head; it is called
        again when the branch has changed meanwhile. The sealed areas are dropped: their changes are
        in the new commit, or differ in nothing from it. `extra_writes` adds writes for the commit
        to the same step. `known` and `is_staged` are as for `commit`. Without
        `trusts_tree`, the commit's tree may name any objects, and garbage collection must admit it;
        `since` is the number of sweeps that had begun when the tree was read.

        With `examine`, the commit can be read as a proposal while that is called. The branch can be
        changed meanwhile; if it has moved, the next commit is examined.

        Raises what `make`, `examine` and `extra_writes` raise, and Conflict; then the branch has
        not moved, and its staged changes remain.
        """

        def additions(head: Commit, commit: Commit) -> ExtraWrites:
            extra, expect = collect_extra_writes(extra_writes, commit)
            if trusts_tree:
                return extra, expect
            trees = head.metarange_id, commit.metarange_id
            admitted, unchanged = self._admission.admit(repository, *trees, since)
            self._swept.require_stored(repository, commit.metarange_id)
            return [*extra, *admitted], [*expect, *unchanged]

        if examine is not None:
            return self._move_examined(repository, branch, make, additions, examine)
        result: list[Commit | NoChanges] = []

        def step(stored: StoredBranch) -> ExtraWrites:
            head = self._commits.get(repository, stored.branch.commit_id)
            try:
                commit = make(stored, head)
            except NoChanges as no_changes:
                # the sealed changes have no effect: drop them, and do not move the branch
                result[:] = [no_changes]
                if not stored.branch.sealed_tokens:
                    return [], []
                return self._drop_sealed(repository, stored.branch, ())
            result[:] = [commit]
            return self._move(repository, stored.branch, (), commit, additions(head, commit))

        with self._locks.acquire((repository.partition, branch)) as waited:
            sealed = self.seal(
                repository, branch, None if waited else known, is_staged=is_staged and not waited
            )
            self._branches.update(repository, branch, step, sealed)
        if isinstance(result[0], NoChanges):
            raise result[0]
        self._commits.remember(repository, result[0])
        return result[0]

    def _move_examined(
        self,
        repository: Repository,
        branch: str,
        make: Callable[[StoredBranch, Commit], Commit],
        additions: Callable[[Commit, Commit], ExtraWrites],
        examine: Examine,
    ) -> Commit:
        """Moves a branch to a commit that was examined. The branch can be changed meanwhile: what
        is staged then remains staged, and if its head moves, the commit is made again.
        """
        acquire = partial(self._locks.acquire, (repository.partition, branch))
        for number in range(_MAX_EXAMINATIONS):
            with ExitStack() as lock:
                lock.enter_context(acquire())
                before = self.seal(repository, branch).branch
                head = self._commits.get(repository, before.commit_id)
                commit = make(StoredBranch(before, b""), head)
                keeps_lock = number >= _UNLOCKED_EXAMINATIONS
                if not keeps_lock:
                    lock.close()
                proposal = self._proposals.store(repository, commit)
                try:
                    examine(commit, head)
                    if not keeps_lock:
                        lock.enter_context(acquire())
                    moved = self._move_from(
                        repository, before, commit, partial(additions, head, commit)
                    )
                finally:
                    self._proposals.remove(proposal)
            if moved:
                self._commits.remember(repository, commit)
                return commit
        raise Busy(
            f"the branch {branch} has moved {_MAX_EXAMINATIONS} times while hooks were running",
            kind="too_many_tries",
        )

    def _move_from(
        self,
        repository: Repository,
        before: Branch,
        commit: Commit,
        additions: Callable[[], ExtraWrites],
    ) -> bool:
        """Moves a branch to a commit if its head is still that of `before`, and the changes that
        were sealed then are still the oldest; returns whether it did.
        """
        sealed = before.sealed_tokens
        moved = False

        def step(stored: StoredBranch) -> ExtraWrites:
            nonlocal moved
            newer = stored.branch.sealed_tokens[: len(stored.branch.sealed_tokens) - len(sealed)]
            same_head = stored.branch.commit_id == before.commit_id
            moved = same_head and (*newer, *sealed) == stored.branch.sealed_tokens
            if not moved:
                return [], []
            return self._move(repository, stored.branch, newer, commit, additions())

        self._branches.update(repository, before.id, step)
        return moved

    def _move(
        self,
        repository: Repository,
        branch: Branch,
        newer: tuple[str, ...],
        commit: Commit,
        additions: ExtraWrites,
    ) -> ExtraWrites:
        """Returns the writes that add a commit and move a branch to it. Of its sealed areas, the
        `newer` ones remain.
        """
        extra, expect = additions
        moved = msgspec.structs.replace(branch, commit_id=commit.id)
        dropped, _ = self._drop_sealed(repository, moved, newer)
        return [self._commits.write(repository, commit), *extra, *dropped], expect

    def _drop_sealed(
        self, repository: Repository, branch: Branch, newer: tuple[str, ...]
    ) -> ExtraWrites:
        """Returns the writes that store a branch without its sealed areas but the `newer` ones."""
        kept = msgspec.structs.replace(branch, sealed_tokens=newer)
        dropped = discard(branch.sealed_tokens[len(newer) :], self._clock())
        return [self._branches.write(repository, kept), *dropped], []

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
        and `is_staged` are as for `commit`.
        """
        result: list[StoredBranch] = []

        def step(stored: StoredBranch) -> ExtraWrites:
            if not is_staged and self._staging.is_empty([stored.branch.staging_token]):
                result[:] = [stored]
                return [], []
            sealed = self._branches.seal(repository, stored.branch)
            write = self._branches.write(repository, sealed)
            result[:] = [StoredBranch(sealed, write.value or b"")]
            return [write], []

        self._branches.update(repository, branch, step, known)
        return result[0]

    def _apply_staged(
        self, repository: Repository, branch: Branch, head: Commit
    ) -> tuple[str, bytes]:
        """Writes the tree of a branch's sealed changes; returns its id and the changed paths."""
        if not branch.sealed_tokens:
            return head.metarange_id, b""
        tree = self._trees.open(repository, head.metarange_id)

        def apply(folder: str) -> kernel.Written:
            return tree.apply_staged(self._staging.rows(branch.sealed_tokens), folder)

        written = self._trees.write(repository, apply, lambda written: written)
        return written.metarange_id, written.changed_paths or b""
