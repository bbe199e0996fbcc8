"""Merges and cherry-picks: three-way merges of trees into a branch.

For each path, the result takes the side that changed it since the base; if both sides changed a
path differently, the rules of the merge decide, or there is a conflict. A cherry-pick is a merge
with another base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from anabranch.errors import Invalid, NoChanges, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.committer import Committer, Examine
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.merging.conflicts import OpenConflict, SideTree
from anabranch.versioning.merging.rules import NO_RULES, MergeRules
from anabranch.versioning.merging.tree_merger import MergePreview, TreeMergers
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import References
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, combine

__all__ = ["Merger", "check_parent_number"]

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


class Merger:
    """Makes merge, revert and cherry-pick commits on branches."""

    def __init__(
        self,
        references: References,
        commits: Commits,
        tree_mergers: TreeMergers,
        committer: Committer,
        pins: Pins,
        index: HistoryIndex,
    ) -> None:
        self._references = references
        self._commits = commits
        self._tree_mergers = tree_mergers
        self._committer = committer
        self._pins = pins
        self._index = index

    def base(self, repository: Repository, left: Commit, right: Commit) -> Commit:
        """Returns the best common ancestor of two commits. Raises NotFound if there is none."""
        base_id = self._index.merge_base(repository, left.id, right.id)
        if base_id is None:
            raise NotFound("the histories have no common commit", kind="merge_base_not_found")
        return self._commits.get(repository, base_id)

    def merge(
        self,
        repository: Repository,
        theirs: Commit,
        destination: str,
        *,
        source: str,
        committer: str,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        rules: MergeRules = NO_RULES,
        squash: bool = False,
        allow_empty: bool = False,
        known: StoredBranch | None = None,
        extra_writes: ExtraWritesFor[Commit] | None = None,
        examine: Examine | None = None,
    ) -> Commit:
        """Merges a commit into a branch and returns the new commit. `source` is the reference to
        the commit, for the message; `known` is the branch, if the caller has read it already;
        `extra_writes` adds writes to the commit's; `examine` is as for `Committer.move_branch`.

        Raises MergeConflict with the conflicting paths, NoChanges, DirtyBranch.
        """

        def make(stored: StoredBranch, head: Commit) -> Commit:
            self._committer.require_clean(repository, stored.branch)
            base = self.base(repository, head, theirs)
            if theirs.metarange_id == base.metarange_id and not allow_empty:
                raise NoChanges(f"update branch {destination}: no changes")
            trees.begin()
            return self._commits.make(
                committer=committer,
                message=message or f"Merge '{source}' into '{destination}'",
                metarange_id=trees.merge(*map(SideTree.of, (head, theirs, base))),
                metadata={**(metadata or {}), STRATEGY_KEY: rules.strategy or "default"},
                parents=[head] if squash else [head, theirs],
            )

        admit = self._pins.admission(repository, theirs.id)
        with self._tree_mergers.open(repository, rules) as trees:
            if known is not None:
                head = self._commits.get(repository, known.branch.commit_id)
                if trees.reads_content(head.metarange_id):
                    # it may take long: not while other writers wait for the branch
                    self._committer.require_unstaged(repository, known.branch)
                    make(known, head)
            writes = combine(extra_writes, admit, trees.admit)
            return self._committer.move_branch(
                *(repository, destination, make, writes, known), examine=examine
            )

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

    def preview(
        self, repository: Repository, theirs: Commit, head: Commit, rules: MergeRules
    ) -> MergePreview:
        """Returns what merging a commit into the branch with this head would do."""
        base = self.base(repository, head, theirs)
        with self._tree_mergers.open(repository, rules) as trees:
            return trees.preview(*map(SideTree.of, (head, theirs, base)))

    def cherry_pick(
        self,
        repository: Repository,
        branch: str,
        reference: str,
        *,
        parent_number: int | None = None,
        committer: str,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        rules: MergeRules = NO_RULES,
        extra_writes: ExtraWritesFor[Commit] | None = None,
        examine: Examine | None = None,
    ) -> Commit:
        """Applies one commit's changes to a branch: merges it, with its parent as base.

        `metadata`, unless empty, replaces the commit's.
        Raises Invalid for a merge commit without a parent number (1 is the first).
        """
        if parent_number is not None:
            check_parent_number(parent_number, least=1)
        picked = self._references.commit(repository, reference)
        if picked.is_merge and parent_number is None:
            raise Invalid(
                "must specify 1-based parent number for cherry-picking merge commit",
                kind="parent_number_needed",
            )
        parent = self._parent(repository, picked, parent_number or 1)

        def make(stored: StoredBranch, head: Commit) -> Commit:
            self._committer.require_clean(repository, stored.branch)
            if picked.metarange_id == parent.metarange_id:
                raise NoChanges(f"update branch {branch}: no changes")
            trees.begin()
            origin = {ORIGIN_KEY: picked.id, ORIGIN_COMMITTER_KEY: picked.committer}
            return self._commits.make(
                committer=committer,
                message=message or picked.message,
                metarange_id=trees.merge(*map(SideTree.of, (head, picked, parent))),
                metadata={**(metadata or picked.metadata), **origin},
                parents=[head],
            )

        admit = self._pins.admission(repository, picked.id)
        with self._tree_mergers.open(repository, rules) as trees:
            writes = combine(extra_writes, admit, trees.admit)
            return self._committer.move_branch(repository, branch, make, writes, examine=examine)

    def _parent(self, repository: Repository, commit: Commit, number: int) -> Commit:
        if number > len(commit.parents):
            raise Invalid(
                f"parent {number}: given commit does not have the given parent number",
                kind="parent_out_of_range",
            )
        return self._commits.get(repository, commit.parents[number - 1])
