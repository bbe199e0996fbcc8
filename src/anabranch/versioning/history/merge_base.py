"""Merge bases: git's best common ancestors.

A common ancestor is best when no other common ancestor descends from it. Both histories are painted
downwards, the highest generation first. A commit's generation is one more than the highest of its
parents, so a commit is visited after all its descendants, and its paint is final then: a commit
painted from both sides is a best common ancestor, and all its ancestors are stale, that is common
but not best. Once one side has no commits left that are not stale, no further base can appear. So
the cost follows the distance between the two commits, not the length of the history. Compare git's
merge-base documentation and the generation numbers of its commit-graph.
"""

from __future__ import annotations

import heapq

from anabranch.model.commits.commit import Commit
from anabranch.versioning.history.revision_walk import ReadCommit, ancestors

__all__ = ["is_ancestor", "merge_base", "merge_bases", "preference"]

_LEFT, _RIGHT, _STALE = 1, 2, 4
_BOTH = _LEFT | _RIGHT


def merge_base(read: ReadCommit, left: str, right: str) -> str | None:
    """Returns the id of the best common ancestor, None for histories without a common commit.

    Of several best ones it is the newest by creation date in seconds, as in git, and of equally new
    ones that with the smallest id. Both are covered by the commit id's digest, so every copy of a
    history has the same merge base, in either order of the arguments.
    """
    return next(iter(merge_bases(read, left, right)), None)


def merge_bases(read: ReadCommit, left: str, right: str) -> list[str]:
    """Returns the ids of all best common ancestors, as `git merge-base --all` does; the preferred
    one first.

    `left` and `right` are full ids. Raises what `read` raises for a missing commit.
    """
    try:
        bases = _paint(read, left, right)
    except _UnknownGenerationError:
        bases = _compare_whole_histories(read, left, right)
    return [commit.id for commit in sorted(bases, key=preference)]


def preference(base: Commit) -> tuple[int, str]:
    """Returns the key by which bases are sorted, the preferred one first."""
    return -base.creation_date, base.id


def is_ancestor(read: ReadCommit, ancestor: str, descendant: str) -> bool:
    """Returns whether `descendant` is `ancestor` or descends from it.

    Reads no more than the history between the two generations.
    """
    floor = read(ancestor).generation
    seen = {descendant}
    pending = [descendant]
    while pending:
        commit = read(pending.pop())
        if commit.id == ancestor or ancestor in commit.parents:
            return True
        if commit.generation < 1 or commit.generation > floor:
            unseen = [parent for parent in commit.parents if parent not in seen]
            seen.update(unseen)
            pending.extend(unseen)
    return False


class _UnknownGenerationError(Exception):
    """A commit's generation is missing or does not exceed its parent's."""


class _Frontier:
    """Priority queue of the painted commits that have not been visited yet."""

    def __init__(self, read: ReadCommit) -> None:
        self._read = read
        self._queue: list[tuple[int, str]] = []
        self._waiting: dict[str, tuple[Commit, int]] = {}
        self._counts = [0] * (2 * _STALE)

    @property
    def is_promising(self) -> bool:
        """Whether another best common ancestor may be found."""
        counts = self._counts
        return counts[_BOTH] > 0 or (counts[_LEFT] > 0 and counts[_RIGHT] > 0)

    def paint(self, commit_id: str, paint: int, child: Commit | None = None) -> None:
        if commit_id in self._waiting:
            commit, previous = self._waiting[commit_id]
            self._counts[previous] -= 1
            paint |= previous
        else:
            commit = self._read(commit_id)
            if commit.generation < 1 or (child and commit.generation >= child.generation):
                raise _UnknownGenerationError
            heapq.heappush(self._queue, (-commit.generation, commit_id))
        self._waiting[commit_id] = commit, paint
        self._counts[paint] += 1

    def pop(self) -> tuple[Commit, int]:
        _, commit_id = heapq.heappop(self._queue)
        commit, paint = self._waiting.pop(commit_id)
        self._counts[paint] -= 1
        return commit, paint


def _paint(read: ReadCommit, left: str, right: str) -> list[Commit]:
    bases: list[Commit] = []
    frontier = _Frontier(read)
    frontier.paint(left, _LEFT)
    frontier.paint(right, _RIGHT)
    while frontier.is_promising:
        commit, paint = frontier.pop()
        if paint == _BOTH:
            bases.append(commit)
            paint |= _STALE
        for parent in commit.parents:
            frontier.paint(parent, paint, commit)
    return bases


def _compare_whole_histories(read: ReadCommit, left: str, right: str) -> list[Commit]:
    """Returns the best common ancestors without using generations, which lakeFS's oldest records
    lack and damaged ones have wrong.
    """
    right_ancestors = ancestors(read, right)
    common = [commit for commit in ancestors(read, left).values() if commit.id in right_ancestors]
    stale = {parent for commit in common for parent in commit.parents}
    return [commit for commit in common if commit.id not in stale]
