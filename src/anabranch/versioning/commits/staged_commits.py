"""Commits of what is staged on a branch, or of a tree that a client has made."""

from __future__ import annotations

import msgspec

from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Gone, NoChanges, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange, Made, UntrustedTree
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.trees.tree_addresses import Importable, TreeAddresses
from anabranch.versioning.trees.tree_writers import ApplyStaged
from anabranch.versioning.trees.trees import Trees

__all__ = ["ClientTree", "StagedCommits"]


class ClientTree(msgspec.Struct, frozen=True):
    """A tree that a client has made, by its id. It may add addresses that are `importable`; `since`
    is the number of sweeps that had ended when its entries were read, if known.
    """

    metarange_id: str
    importable: Importable | None = None
    since: int | None = None


class StagedCommits:
    """Commits the staged changes of branches, or trees of clients."""

    def __init__(
        self,
        commits: Commits,
        staging: Staging,
        trees: Trees,
        addresses: TreeAddresses,
        committer: Committer,
    ) -> None:
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._addresses = addresses
        self._committer = committer

    def commit(
        self,
        change: BranchChange[Commit],
        *,
        tree: ClientTree | None = None,
        allow_empty: bool = False,
    ) -> Commit:
        """Commits the staged changes of a branch or, given `tree`, that tree.

        Raises NoChanges when the tree equals the head's (unless `allow_empty`). For a client's
        tree, raises DirtyBranch when changes are staged, NotFound when it is not in the
        repository's store, Invalid for a malformed id, and Denied when it adds an address that no
        object of the repository may have (kind address_forbidden) or that is not importable (kind
        insufficient_permissions).
        """
        if tree is None:
            staged = CommitStaged(self._commits, self._staging, self._trees, allow_empty)
            return self._committer.move_branch(change, staged)
        given = CommitTree(
            *(self._commits, self._trees, self._addresses, self._committer),
            tree=tree,
            allow_empty=allow_empty,
        )
        return self._committer.move_branch(change, given)


class CommitStaged(msgspec.Struct, frozen=True):
    """Plan of a commit of staged changes."""

    commits: Commits
    staging: Staging
    trees: Trees
    allow_empty: bool

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns a commit of the sealed changes. Raises NoChanges."""
        repository = change.repository
        metarange_id, changed_paths = self._apply(repository, stored.branch, head)
        if metarange_id == head.metarange_id and not self.allow_empty:
            raise NoChanges("commit: no changes")
        tree = metarange_id or self.trees.write_empty(repository)
        commit = self.commits.make_from(change.fields, tree, [head])
        return Made(commit=commit, result=commit, changed_paths=changed_paths)

    def _apply(self, repository: Repository, branch: Branch, head: Commit) -> tuple[str, bytes]:
        """Writes the tree of a branch's sealed changes; returns its id and the changed paths."""
        if not branch.sealed_tokens:
            return head.metarange_id, b""
        tree = self.trees.open(repository, head.metarange_id)
        staged = ApplyStaged(tree, self.staging, branch.sealed_tokens)
        written = self.trees.write(repository, staged)
        return written.metarange_id, written.changed_paths or b""


class CommitTree:
    """Plan of a commit of a client's tree."""

    def __init__(
        self,
        commits: Commits,
        trees: Trees,
        addresses: TreeAddresses,
        committer: Committer,
        *,
        tree: ClientTree,
        allow_empty: bool,
    ) -> None:
        self._commits = commits
        self._trees = trees
        self._addresses = addresses
        self._committer = committer
        self._tree = tree
        self._allow_empty = allow_empty
        self._checked: dict[str, str] = {}

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns a commit of the tree. Raises as `StagedCommits.commit` does."""
        repository = change.repository
        self._committer.require_clean(
            repository,
            stored.branch,
            "cannot use source MetaRange on a branch with uncommitted changes",
        )
        # once for each head's tree: that of a move which is not made admits nothing on another one
        if head.metarange_id not in self._checked:
            self._checked[head.metarange_id] = self._require_tree(repository, head.metarange_id)
        tree = self._checked[head.metarange_id]
        if tree == head.metarange_id and not self._allow_empty:
            raise NoChanges("commit: no changes")
        commit = self._commits.make_from(change.fields, tree, [head])
        return Made(commit=commit, result=commit, untrusted=UntrustedTree(self._tree.since))

    def _require_tree(self, repository: Repository, head: str) -> str:
        """Returns the id of the tree, if the repository's store has it and its addresses are
        admitted on top of the tree `head`.
        """
        metarange_id = self._tree.metarange_id
        table_address(repository.storage_namespace, metarange_id)
        try:
            self._addresses.require_admitted(repository, head, metarange_id, self._tree.importable)
            return self._trees.open(repository, metarange_id).metarange_id
        except Gone as error:
            raise NotFound(
                f"the tree {metarange_id} is not in the repository's store",
                kind="metarange_not_found",
            ) from error
