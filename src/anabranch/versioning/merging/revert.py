"""Reverts: commits that undo the changes of other commits.

A revert is a three-way merge of the branch with the parent of the undone commit, with that commit
as base. Several are made in the given order, and the branch moves once, after the last one: the new
commits are stored in the transaction that moves it, and a conflict changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Conflict, Invalid, MergeConflict, NoChanges
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange, Made
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.merging.conflicts import SideTree
from anabranch.versioning.merging.merge import check_parent_number
from anabranch.versioning.merging.rules import NO_RULES, MergeRules
from anabranch.versioning.merging.tree_merger import TreeMerger, TreeMergers
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import References

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
    ) -> None:
        self._commits = commits
        self._references = references
        self._committer = committer
        self._tree_mergers = tree_mergers

    def revert(
        self,
        change: BranchChange[Sequence[Commit]],
        references: Sequence[str],
        *,
        parent_number: int,
        allow_empty: bool = False,
        rules: MergeRules = NO_RULES,
    ) -> Sequence[Commit]:
        """Undoes commits on a branch, in order, and returns the new commits, one for each. All
        references are resolved before the first commit is undone. The message and metadata of the
        change are those of each new commit; its examination receives the last.

        Without a parent number, the empty tree stands for the parent of a commit that has none.
        Raises Conflict for a merge commit without a parent number (1 is the first), MergeConflict
        with the conflicting paths and commit, NoChanges unless `allow_empty`, DirtyBranch.
        """
        check_parent_number(parent_number, least=0)
        repository = change.repository
        undone = [self._read(repository, reference, parent_number) for reference in references]
        with self._tree_mergers.open(repository, rules) as trees:
            plan = RevertCommits(self._commits, self._committer, trees, undone, allow_empty)
            return self._committer.move_branch(change, plan)

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


class RevertCommits(msgspec.Struct, frozen=True):
    """Plan of commits that undo others."""

    commits: Commits
    committer: Committer
    trees: TreeMerger
    undone: Sequence[_Undone]
    allow_empty: bool

    def make(
        self, change: BranchChange[Sequence[Commit]], stored: StoredBranch, head: Commit
    ) -> Made[Sequence[Commit]]:
        """Returns the new commits. Raises MergeConflict, NoChanges, DirtyBranch."""
        self.committer.require_clean(change.repository, stored.branch)
        self.trees.begin()
        made: list[Commit] = []
        tip = head
        for each in self.undone:
            tree = _undo(self.trees, tip, each)
            if tree == tip.metarange_id and not self.allow_empty:
                raise NoChanges(f"update branch {change.branch}: no changes")
            message = change.fields.message or f"Revert {each.reference}"
            fields = msgspec.structs.replace(change.fields, message=message)
            tip = self.commits.make_from(fields, tree, [tip])
            made.append(tip)
        return Made(
            commit=tip,
            result=made,
            earlier=made[:-1],
            refers_to=[parent for each in self.undone for parent in each.parent_ids],
            new_content=self.trees.new_content(),
        )


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
