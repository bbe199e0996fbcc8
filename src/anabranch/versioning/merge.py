"""Merges: three-way merges of trees into a branch; revert and cherry-pick.

For each path, the result takes the side that changed it since the base; if both sides changed a
path differently, the strategy decides, or there is a conflict. Revert and cherry-pick are merges
with another base and source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from anabranch import _kernel as kernel
from anabranch.errors import (
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
)
from anabranch.model.commit import Commit
from anabranch.model.names import decode_key
from anabranch.model.repository import Repository
from anabranch.versioning.branches import StoredBranch
from anabranch.versioning.commit_store import Commits
from anabranch.versioning.committer import Committer
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.references import References
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, combine
from anabranch.versioning.trees import Trees

__all__ = ["MAX_CONFLICTS", "Merger", "check_parent_number", "check_strategy"]

MAX_CONFLICTS = 1000
STRATEGY_KEY = ".lakefs.merge.strategy"
ORIGIN_KEY = "cherry-pick-origin"
ORIGIN_COMMITTER_KEY = "cherry-pick-committer"

Strategy = Literal["", "source-wins", "dest-wins"]


def check_strategy(text: str) -> Strategy:
    """Returns the strategy of that name. Raises Invalid if there is none."""
    for strategy in ("", "source-wins", "dest-wins"):
        if text == strategy:
            return strategy
    raise Invalid(
        "argument strategy: invalid value: validation error",
        kind="invalid_strategy",
        hint=f"Use source-wins, dest-wins or no strategy, not {text!r}.",
    )


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
        trees: Trees,
        committer: Committer,
        pins: Pins,
        index: HistoryIndex,
    ) -> None:
        self._references = references
        self._commits = commits
        self._trees = trees
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
        strategy: str = "",
        squash: bool = False,
        allow_empty: bool = False,
        known: StoredBranch | None = None,
        extra_writes: ExtraWritesFor[Commit] | None = None,
    ) -> Commit:
        """Merges a commit into a branch and returns the new commit. `source` is the reference to
        the commit, for the message; `known` is the branch, if the caller has read it already;
        `extra_writes` adds writes to the commit's.

        Raises MergeConflict with the conflicting paths, NoChanges, DirtyBranch.
        """
        chosen = check_strategy(strategy)

        def make(stored: StoredBranch, head: Commit) -> Commit:
            self._committer.require_clean(repository, stored.branch)
            base = self.base(repository, head, theirs)
            if theirs.metarange_id == base.metarange_id and not allow_empty:
                raise NoChanges(f"update branch {destination}: no changes")
            return self._commits.make(
                committer=committer,
                message=message or f"Merge '{source}' into '{destination}'",
                metarange_id=self.merge_trees(
                    repository,
                    head.metarange_id,
                    theirs.metarange_id,
                    base.metarange_id,
                    chosen,
                ),
                metadata={**(metadata or {}), STRATEGY_KEY: strategy or "default"},
                parents=[head] if squash else [head, theirs],
            )

        admit = self._pins.admission(repository, theirs.id)
        return self._committer.move_branch(
            repository, destination, make, combine(extra_writes, admit), known
        )

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
        extra_writes: ExtraWritesFor[Commit] | None = None,
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
            origin = {ORIGIN_KEY: picked.id, ORIGIN_COMMITTER_KEY: picked.committer}
            return self._commits.make(
                committer=committer,
                message=message or picked.message,
                metarange_id=self.merge_trees(
                    repository, head.metarange_id, picked.metarange_id, parent.metarange_id, ""
                ),
                metadata={**(metadata or picked.metadata), **origin},
                parents=[head],
            )

        admit = self._pins.admission(repository, picked.id)
        return self._committer.move_branch(repository, branch, make, combine(extra_writes, admit))

    def _parent(self, repository: Repository, commit: Commit, number: int) -> Commit:
        if number > len(commit.parents):
            raise Invalid(
                f"parent {number}: given commit does not have the given parent number",
                kind="parent_out_of_range",
            )
        return self._commits.get(repository, commit.parents[number - 1])

    def merge_trees(
        self,
        repository: Repository,
        destination: str,
        source: str,
        base: str,
        strategy: Strategy,
    ) -> str:
        """Merges three trees, given by id, and returns the metarange id of the result. Raises
        MergeConflict with the conflicting paths.
        """
        if destination == base:
            return source
        trees = [self._trees.open(repository, tree_id) for tree_id in (destination, source, base)]
        merged = self._trees.write(
            repository,
            lambda folder: _write_merge(trees, folder, strategy),
            lambda merged: merged.written,
        )
        if merged.written is None:
            raise MergeConflict(
                "conflict found",
                paths=[decode_key(key) for key in merged.conflicts],
                count=merged.conflict_count,
            )
        return merged.written.metarange_id


def _write_merge(trees: list[kernel.Tree], folder: str, strategy: Strategy) -> kernel.Merged:
    ours, theirs, base = trees
    return ours.merge(theirs, base, folder, strategy=strategy, max_conflicts=MAX_CONFLICTS)
