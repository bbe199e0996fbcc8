"""Commit: a branch's staged changes become a tree, and the tree a commit.

First the staging area is sealed, so that new changes go to a new one; then the sealed changes are
applied to the head's tree; then the branch moves, if it is still where it was, else all of it is
done again on what is there now. Tables that a failed attempt wrote are found and used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import DirtyBranch, Gone, NoChanges, NotFound
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.branch import Branch
from anabranch.model.commit import Commit
from anabranch.model.repository import Repository
from anabranch.versioning.branches import Branches, StoredBranch
from anabranch.versioning.cleanup import discard
from anabranch.versioning.commits import Commits
from anabranch.versioning.difference import Difference
from anabranch.versioning.extra_writes import Beside
from anabranch.versioning.staging import Staging
from anabranch.versioning.tree_admission import TreeAdmission
from anabranch.versioning.trees import Trees
from anabranch.versioning.turns import Turns

__all__ = ["Committing"]

_DIRTY = "uncommitted changes (dirty branch)"


class Committing:
    """Moves branches: by commits of staged changes, and to commits that others have made.

    `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        branches: Branches,
        commits: Commits,
        staging: Staging,
        trees: Trees,
        difference: Difference,
        admission: TreeAdmission,
        clock: Callable[[], float],
    ) -> None:
        self._branches = branches
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._difference = difference
        self._admission = admission
        self._clock = clock
        self._turns = Turns()

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
        known: StoredBranch | None = None,
        beside: Beside[Commit] | None = None,
    ) -> Commit:
        """Commits what is staged on a branch, or, given `source_metarange`, that tree. `known` is
        the branch as it was read before, if it was; `beside` adds writes to the commit's.

        Raises NoChanges when the tree would be the head's (unless `allow_empty`),
        DirtyBranch when changes are staged beside a source metarange, and NotFound when that is
        not in the repository's store.
        """

        def make(stored: StoredBranch, head: Commit) -> Commit:
            if source_metarange:
                self.require_clean(
                    repository,
                    stored.branch,
                    "cannot use source MetaRange on a branch with uncommitted changes",
                )
                metarange_id = self._there(repository, source_metarange)
            else:
                metarange_id = self._apply_staged(repository, stored.branch, head)
            if metarange_id == head.metarange_id and not allow_empty:
                raise NoChanges("commit: no changes")
            return self._commits.make(
                committer=committer,
                message=message,
                metarange_id=metarange_id or self._empty_tree(repository),
                metadata=metadata,
                parents=[head],
                date=date,
            )

        return self.advance(
            repository, branch, make, beside, known, trusts_tree=not source_metarange
        )

    def _there(self, repository: Repository, metarange_id: str) -> str:
        """Returns the id of a tree that a client has named, if the repository's store has it.

        Raises Invalid for what is no id, NotFound.
        """
        table_address(repository.storage_namespace, metarange_id)
        try:
            return self._trees.open(repository, metarange_id).metarange_id
        except Gone as error:
            raise NotFound(
                f"the tree {metarange_id} is not in the repository's store",
                kind="metarange_not_found",
            ) from error

    def advance(
        self,
        repository: Repository,
        branch: str,
        make: Callable[[StoredBranch, Commit], Commit],
        beside: Beside[Commit] | None = None,
        known: StoredBranch | None = None,
        *,
        trusts_tree: bool = True,
    ) -> Commit:
        """Moves a branch to the commit that `make` gives, and returns it.

        `make` is given the branch, its staged changes all sealed, and its head; it is called
        again when the branch changed meanwhile. Sealed changes are let go: they are in the new
        commit, or were none. In the same step, what `beside` says of the commit is written, on
        condition of what it expects. `known` is the branch as it was read before, if it was.
        Unless it `trusts_tree`, the commit's tree may name any objects, and garbage collection must
        admit it. Raises what `make` and `beside` raise, and Conflict; then the branch has not
        moved, and what was staged still is.
        """
        made: list[Commit | NoChanges] = []

        def step(stored: StoredBranch) -> tuple[Sequence[Write], Sequence[Expect]]:
            head = self._commits.get(repository, stored.branch.commit_id)
            writes: list[Write] = []
            expect: list[Expect] = []
            try:
                commit = make(stored, head)
            except NoChanges as nothing:
                # then the sealed changes are none: let them go, and stay
                made[:], moved = [nothing], stored.branch
                if not stored.branch.sealed_tokens:
                    return [], []
            else:
                made[:] = [commit]
                moved = msgspec.structs.replace(stored.branch, commit_id=commit.id)
                writes.append(self._commits.write(repository, commit))
                decisions = [] if beside is None else [beside(commit)]
                if not trusts_tree:
                    decisions.append(
                        self._admission.admit(repository, head.metarange_id, commit.metarange_id)
                    )
                for others, expected in decisions:
                    writes += others
                    expect += expected
            moved = msgspec.structs.replace(moved, sealed_tokens=())
            writes.append(self._branches.write(repository, moved))
            return [*writes, *discard(stored.branch.sealed_tokens, self._clock())], expect

        with self._turns.take((repository.partition, branch)) as waited:
            sealed = self._seal(repository, branch, None if waited else known)
            self._branches.update(repository, branch, step, sealed)
        if isinstance(made[0], NoChanges):
            raise made[0]
        self._commits.remember(repository, made[0])
        return made[0]

    def require_clean(
        self,
        repository: Repository,
        branch: Branch,
        message: str = _DIRTY,
    ) -> None:
        """Raises DirtyBranch if a sealed change differs from what the branch's head holds."""
        if self._difference.is_dirty(repository, branch.commit_id, branch.sealed_tokens):
            raise DirtyBranch(message)

    def require_unstaged(self, repository: Repository, branch: Branch) -> None:
        """Raises DirtyBranch if a staged change, sealed or not, differs from the branch's head."""
        if self._difference.is_dirty(repository, branch.commit_id, branch.tokens):
            raise DirtyBranch(_DIRTY)

    def _seal(
        self, repository: Repository, branch: str, known: StoredBranch | None
    ) -> StoredBranch:
        """Seals the active staging area if it holds anything; returns the branch as it is then."""
        made: list[StoredBranch] = []

        def step(stored: StoredBranch) -> tuple[Sequence[Write], Sequence[Expect]]:
            if self._staging.is_empty([stored.branch.staging_token]):
                made[:] = [stored]
                return [], []
            sealed = self._branches.sealed(repository, stored.branch)
            write = self._branches.write(repository, sealed)
            made[:] = [StoredBranch(sealed, write.value or b"")]
            return [write], []

        self._branches.update(repository, branch, step, known)
        return made[0]

    def _empty_tree(self, repository: Repository) -> str:
        """Returns the id of a tree without objects, whose table is written."""
        written = self._trees.write(
            repository, lambda folder: kernel.write_tree([], folder), lambda made: made
        )
        return written.metarange_id

    def _apply_staged(self, repository: Repository, branch: Branch, head: Commit) -> str:
        if not branch.sealed_tokens:
            return head.metarange_id
        tree = self._trees.open(repository, head.metarange_id)

        def apply(folder: str) -> kernel.Written:
            return tree.apply_staged(self._staging.rows(branch.sealed_tokens), folder)

        return self._trees.write(repository, apply, lambda written: written).metarange_id
