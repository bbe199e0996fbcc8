"""Merge bases: git's best common ancestors.

A common ancestor is best when no other common ancestor descends from it. Both histories are
painted downwards, the highest generation first. A generation is one more than the highest
parent's, so a commit's turn comes after that of all its descendants, and its paint is final then:
painted from both sides, it is a best common ancestor, and all below it is stale, common but not
best. Once one side has no fresh paint left no further base can appear. So the cost follows the
distance between the two commits, not the length of the history. Compare git's merge-base
documentation and its commit-graph's generation numbers.
"""

from __future__ import annotations

import heapq

from anabranch.model.commit import Commit
from anabranch.versioning.ancestry import ReadCommit, ancestors

__all__ = ["is_ancestor", "merge_base", "merge_bases"]

_LEFT, _RIGHT, _STALE = 1, 2, 4
_BOTH = _LEFT | _RIGHT


def merge_base(read: ReadCommit, left: str, right: str) -> str | None:
    """Returns the best common ancestor, None for histories that share nothing.

    Of several best ones it is the newest by creation date in seconds, as git prefers, and of
    equally new ones the one with the smallest id. Both are part of what the id is the digest of,
    so every copy of a history, asked in either order, gives the same answer.
    """
    return next(iter(merge_bases(read, left, right)), None)


def merge_bases(read: ReadCommit, left: str, right: str) -> list[str]:
    """Returns all best common ancestors, as `git merge-base --all`; the preferred one first.

    `left` and `right` are full ids. Raises what `read` raises where a commit is missing.
    """
    try:
        found = _paint(read, left, right)
    except _UnknownGenerationError:
        found = _compare_whole_histories(read, left, right)
    return [commit.id for commit in sorted(found, key=lambda c: (-c.creation_date, c.id))]


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
    """Commits that are painted and wait for their turn."""

    def __init__(self, read: ReadCommit) -> None:
        self._read = read
        self._queue: list[tuple[int, str]] = []
        self._waiting: dict[str, tuple[Commit, int]] = {}
        self._counts = [0] * (2 * _STALE)

    @property
    def is_promising(self) -> bool:
        """Whether another best common ancestor may come."""
        counts = self._counts
        return counts[_BOTH] > 0 or (counts[_LEFT] > 0 and counts[_RIGHT] > 0)

    def paint(self, commit_id: str, paint: int, child: Commit | None = None) -> None:
        if commit_id in self._waiting:
            commit, former = self._waiting[commit_id]
            self._counts[former] -= 1
            paint |= former
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
    found: list[Commit] = []
    frontier = _Frontier(read)
    frontier.paint(left, _LEFT)
    frontier.paint(right, _RIGHT)
    while frontier.is_promising:
        commit, paint = frontier.pop()
        if paint == _BOTH:
            found.append(commit)
            paint |= _STALE
        for parent in commit.parents:
            frontier.paint(parent, paint, commit)
    return found


def _compare_whole_histories(read: ReadCommit, left: str, right: str) -> list[Commit]:
    """Needs no generations: lakeFS's oldest records, and damaged ones, have none to trust."""
    theirs = ancestors(read, right)
    common = [commit for commit in ancestors(read, left).values() if commit.id in theirs]
    passed = {parent for commit in common for parent in commit.parents}
    return [commit for commit in common if commit.id not in passed]
