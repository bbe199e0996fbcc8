"""Merges and cherry-picks: three-way merges of trees into a branch.

For each path, the result takes the side that changed it since the base; if both sides changed a
path differently, the rules of the merge decide, or there is a conflict. A cherry-pick is a merge
with another base.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.errors import Invalid, NoChanges, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import MergePreview, OpenConflict
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange, Made
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.merging.conflicts import SideTree
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.row_listing import RowListing, list_rows
from anabranch.versioning.merging.rules import NO_RULES, MergeRules
from anabranch.versioning.merging.tree_merger import TreeMerger, TreeMergers
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import References

__all__ = ["Merge", "Merger", "check_parent_number"]

STRATEGY_KEY = ".lakefs.merge.strategy"
ORIGIN_KEY = "cherry-pick-origin"
ORIGIN_COMMITTER_KEY = "cherry-pick-committer"


def check_parent_number(number: int, *, least: Literal[0, 1]) -> None:
    """Raises Invalid for a parent number below `least`."""
    if number < least:
        reason = "" if least == 0 else "value should be greater than 0: "
        raise Invalid(
            f"argument parentNumber: {reason}invalid value: validation error",
            kind="parent_out_of_range",
        )


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """A merge of the commit `theirs`; `source` is the reference to it, for the message. A `squash`
    has the branch's head as its only parent.
    """

    theirs: Commit
    source: str
    rules: MergeRules = NO_RULES
    squash: bool = False
    allow_empty: bool = False


class Merger:
    """Makes merge and cherry-pick commits on branches."""

    def __init__(
        self,
        references: References,
        commits: Commits,
        tree_mergers: TreeMergers,
        committer: Committer,
        index: HistoryIndex,
    ) -> None:
        self._references = references
        self._commits = commits
        self._tree_mergers = tree_mergers
        self._committer = committer
        self._index = index

    def base(self, repository: Repository, left: Commit, right: Commit) -> Commit:
        """Returns the best common ancestor of two commits. Raises NotFound if there is none."""
        base_id = self._index.merge_base(repository, left.id, right.id)
        if base_id is None:
            raise NotFound("the histories have no common commit", kind="merge_base_not_found")
        return self._commits.get(repository, base_id)

    def merge(self, change: BranchChange[Commit], merge: Merge) -> Commit:
        """Merges a commit into a branch and returns the new commit.

        Raises MergeConflict with the conflicting paths, NoChanges, DirtyBranch, and Conflict (kind
        outdated_choices) for choices of rows that were made for other versions.
        """
        repository, known = change.repository, change.known
        with self._tree_mergers.open(repository, merge.rules) as trees:
            plan = MergeCommits(self, self._commits, self._committer, trees, merge)
            if known is not None:
                head = self._commits.get(repository, known.branch.commit_id)
                if trees.reads_content(head.metarange_id):
                    # it may take long: not while other writers wait for the branch
                    self._committer.require_unstaged(repository, known.branch)
                    plan.make(change, known, head)
            return self._committer.move_branch(change, plan)

    def conflicts(
        self,
        repository: Repository,
        theirs: Commit,
        head: Commit,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
    ) -> Page[OpenConflict]:
        """Returns a page of the paths that merging a commit into the branch with this head finds
        changed on both sides.
        """
        base = self.base(repository, head, theirs)
        with self._tree_mergers.open(repository, NO_RULES) as trees:
            opened = trees.open(*map(SideTree.of, (head, theirs, base)))
        return opened.conflict_page(prefix=prefix, after=after, amount=amount)

    def row_conflicts(
        self,
        repository: Repository,
        theirs: Commit,
        head: Commit,
        path: str,
        listing: RowListing,
        rights: ContentRights,
    ) -> RowConflictPage:
        """Returns a page of the rows of a table that merging a commit into the branch with this
        head finds changed on both sides. Raises as `list_rows`.
        """
        base = self.base(repository, head, theirs)
        with self._tree_mergers.open(repository, NO_RULES) as trees:
            opened = trees.open(*map(SideTree.of, (head, theirs, base)))
            return list_rows(self._tree_mergers.processes, opened, path, listing, rights)

    def preview(
        self, repository: Repository, theirs: Commit, head: Commit, rules: MergeRules
    ) -> MergePreview:
        """Returns what merging a commit into the branch with this head would do."""
        base = self.base(repository, head, theirs)
        with self._tree_mergers.open(repository, rules) as trees:
            return trees.preview(*map(SideTree.of, (head, theirs, base)))

    def cherry_pick(
        self,
        change: BranchChange[Commit],
        reference: str,
        *,
        parent_number: int | None = None,
        rules: MergeRules = NO_RULES,
    ) -> Commit:
        """Applies one commit's changes to a branch: merges it, with its parent as base. The message
        and the metadata of the change, unless empty, replace the commit's.

        Raises Invalid for a merge commit without a parent number (1 is the first).
        """
        repository = change.repository
        if parent_number is not None:
            check_parent_number(parent_number, least=1)
        picked = self._references.commit(repository, reference)
        if picked.is_merge and parent_number is None:
            raise Invalid(
                "must specify 1-based parent number for cherry-picking merge commit",
                kind="parent_number_needed",
            )
        parent = self._parent(repository, picked, parent_number or 1)
        with self._tree_mergers.open(repository, rules) as trees:
            plan = CherryPick(self._commits, self._committer, trees, picked, parent)
            return self._committer.move_branch(change, plan)

    def _parent(self, repository: Repository, commit: Commit, number: int) -> Commit:
        if number > len(commit.parents):
            raise Invalid(
                f"parent {number}: given commit does not have the given parent number",
                kind="parent_out_of_range",
            )
        return self._commits.get(repository, commit.parents[number - 1])


class MergeCommits(msgspec.Struct, frozen=True):
    """Plan of a merge commit."""

    merger: Merger
    commits: Commits
    committer: Committer
    trees: TreeMerger
    merge: Merge

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns the merge commit. Raises as `Merger.merge` does."""
        merge, theirs = self.merge, self.merge.theirs
        self.committer.require_clean(change.repository, stored.branch)
        base = self.merger.base(change.repository, head, theirs)
        if theirs.metarange_id == base.metarange_id and not merge.allow_empty:
            raise NoChanges(f"update branch {change.branch}: no changes")
        self.trees.begin()
        tree = self.trees.merge(*map(SideTree.of, (head, theirs, base)))
        self.trees.require_chosen()
        fields = msgspec.structs.replace(
            change.fields,
            message=change.fields.message or f"Merge '{merge.source}' into '{change.branch}'",
            metadata={**change.fields.metadata, STRATEGY_KEY: merge.rules.strategy or "default"},
        )
        commit = self.commits.make_from(fields, tree, [head] if merge.squash else [head, theirs])
        return Made(
            commit=commit,
            result=commit,
            refers_to=(theirs.id,),
            new_content=self.trees.new_content(),
        )


class CherryPick(msgspec.Struct, frozen=True):
    """Plan of a commit with the changes of `picked` since its parent."""

    commits: Commits
    committer: Committer
    trees: TreeMerger
    picked: Commit
    parent: Commit

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns the commit. Raises MergeConflict, NoChanges, DirtyBranch."""
        picked, parent = self.picked, self.parent
        self.committer.require_clean(change.repository, stored.branch)
        if picked.metarange_id == parent.metarange_id:
            raise NoChanges(f"update branch {change.branch}: no changes")
        self.trees.begin()
        tree = self.trees.merge(*map(SideTree.of, (head, picked, parent)))
        origin = {ORIGIN_KEY: picked.id, ORIGIN_COMMITTER_KEY: picked.committer}
        fields = msgspec.structs.replace(
            change.fields,
            message=change.fields.message or picked.message,
            metadata={**(change.fields.metadata or picked.metadata), **origin},
        )
        commit = self.commits.make_from(fields, tree, [head])
        return Made(
            commit=commit,
            result=commit,
            refers_to=(picked.id,),
            new_content=self.trees.new_content(),
        )
