"""Reverts: commits that undo the changes of other commits.

A revert is a three-way merge of the branch with the parent of the undone commit, with that commit
as base. Several are made in the given order, and the branch moves once, after the last one: the new
commits are stored in the transaction that moves it, and a conflict changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.errors import Conflict, Invalid, MergeConflict, NoChanges
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.committer import Committer, Examine
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.merging.conflicts import SideTree
from anabranch.versioning.merging.merge import check_parent_number
from anabranch.versioning.merging.rules import NO_RULES, MergeRules
from anabranch.versioning.merging.tree_merger import TreeMerger, TreeMergers
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import References
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor, combine

__all__ = ["Reverter"]


class _Undone(NamedTuple):
    """A commit to undo, by the reference that names it, and the tree that it is compared with:
    that of the parent with the id `parent_ids`, which is empty for the empty tree.
    """

    reference: str
    commit: Commit
    parent_ids: tuple[str, ...]
    parent_tree: str


class Reverter:
    """Undoes commits on branches."""

    def __init__(
        self,
        commits: Commits,
        references: References,
        committer: Committer,
        tree_mergers: TreeMergers,
        pins: Pins,
    ) -> None:
        self._commits = commits
        self._references = references
        self._committer = committer
        self._tree_mergers = tree_mergers
        self._pins = pins

    def revert(
        self,
        repository: Repository,
        branch: str,
        references: Sequence[str],
        *,
        parent_number: int,
        committer: str,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        rules: MergeRules = NO_RULES,
        extra_writes: ExtraWritesFor[Sequence[Commit]] | None = None,
        examine: Examine | None = None,
    ) -> list[Commit]:
        """Undoes commits on a branch, in order, and returns the new commits, one for each. All
        references are resolved before the first commit is undone. `message` and `metadata` are
        those of each new commit; `extra_writes` adds writes for them; `examine` receives the last.

        Without a parent number, the empty tree stands for the parent of a commit that has none.
        Raises Conflict for a merge commit without a parent number (1 is the first), MergeConflict
        with the conflicting paths and commit, NoChanges unless `allow_empty`, DirtyBranch.
        """
        check_parent_number(parent_number, least=0)
        undone = [self._read(repository, reference, parent_number) for reference in references]
        made: list[Commit] = []

        def make(stored: StoredBranch, head: Commit) -> Commit:
            self._committer.require_clean(repository, stored.branch)
            made.clear()
            trees.begin()
            for each in undone:
                tip = made[-1] if made else head
                metarange_id = _undo(trees, tip, each)
                if metarange_id == tip.metarange_id and not allow_empty:
                    raise NoChanges(f"update branch {branch}: no changes")
                commit = self._commits.make(
                    committer=committer,
                    message=message or f"Revert {each.reference}",
                    metarange_id=metarange_id,
                    metadata=metadata or {},
                    parents=[tip],
                )
                made.append(commit)
            return made[-1]

        def store(_: Commit) -> ExtraWrites:
            return [self._commits.write(repository, commit) for commit in made[:-1]], ()

        def record(_: Commit) -> ExtraWrites:
            return ((), ()) if extra_writes is None else extra_writes(made)

        parents = [parent for each in undone for parent in each.parent_ids]
        admit = self._pins.admission(repository, *parents)
        with self._tree_mergers.open(repository, rules) as trees:
            writes = combine(record, store, admit, trees.admit)
            self._committer.move_branch(repository, branch, make, writes, examine=examine)
        return made

    def _read(self, repository: Repository, reference: str, parent_number: int) -> _Undone:
        commit = self._references.commit(repository, reference)
        if commit.is_merge and not parent_number:
            raise Conflict(
                "must specify 1-based parent number for reverting merge commit",
                kind="parent_number_needed",
            )
        if parent_number > len(commit.parents):
            raise Invalid(
                f"given commit does not have the given parent number: parent {parent_number}",
                kind="parent_out_of_range",
            )
        parent_ids = commit.parents[max(parent_number, 1) - 1 :][:1]
        tree = kernel.EMPTY_TREE_ID
        if parent_ids:
            tree = self._commits.get(repository, parent_ids[0]).metarange_id
        return _Undone(reference, commit, parent_ids, tree)


def _undo(trees: TreeMerger, tip: Commit, undone: _Undone) -> str:
    """Returns the id of the tree of a commit without the changes of another."""
    if undone.parent_tree == undone.commit.metarange_id:
        return tip.metarange_id
    try:
        parent = SideTree(undone.parent_tree, "".join(undone.parent_ids))
        return trees.merge(SideTree.of(tip), parent, SideTree.of(undone.commit))
    except MergeConflict as error:
        error.commit_id = undone.commit.id
        raise
