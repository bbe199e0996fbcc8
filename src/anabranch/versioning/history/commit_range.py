"""Commit ranges: git's `base..head`, the commits of one history that another one lacks.

Both histories are painted downwards, the highest generation first, as for merge bases. A commit's
paint is final when it is visited, so the walk ends as soon as no commit waits that only `head` has
reached: the cost follows the size of the range and the distance of the two commits. See
gitrevisions(7), "Specifying ranges".
"""

from __future__ import annotations

import heapq

from anabranch.model.commits.commit import Commit
from anabranch.versioning.history.revision_walk import ReadCommit, ancestors

__all__ = ["commit_range"]

_HEAD, _BASE = 1, 2


def commit_range(read: ReadCommit, base: str, head: str) -> list[Commit]:
    """Returns the commits that `head` has in its history and `base` does not, children first.

    Lines of history are not mixed, and of a merge's parents the last one's line comes first: this
    is the order of `git rev-list --topo-order`. `base` and `head` are full ids.
    """
    try:
        commits = _paint(read, base, head)
    except _UnknownGenerationError:
        known = ancestors(read, base)
        everything = ancestors(read, head)
        commits = {key: commit for key, commit in everything.items() if key not in known}
    return _topological(commits, head)


class _UnknownGenerationError(Exception):
    """A commit's generation is missing or does not exceed its parent's."""


def _paint(read: ReadCommit, base: str, head: str) -> dict[str, Commit]:
    found: dict[str, Commit] = {}
    waiting: dict[str, int] = {}
    queue: list[tuple[int, str]] = []
    only_head = 0

    def paint(commit_id: str, colour: int, child: Commit | None = None) -> None:
        nonlocal only_head
        before = waiting.get(commit_id, 0)
        if not before:
            generation = read(commit_id).generation
            if generation < 1 or (child and generation >= child.generation):
                raise _UnknownGenerationError
            heapq.heappush(queue, (-generation, commit_id))
        waiting[commit_id] = before | colour
        only_head += (before | colour == _HEAD) - (before == _HEAD)

    paint(head, _HEAD)
    paint(base, _BASE)
    while only_head:
        commit_id = heapq.heappop(queue)[1]
        colour = waiting.pop(commit_id)
        commit = read(commit_id)
        if colour == _HEAD:
            only_head -= 1
            found[commit_id] = commit
        for parent in commit.parents:
            paint(parent, colour, commit)
    return found


def _topological(commits: dict[str, Commit], head: str) -> list[Commit]:
    """Returns commits that are all reachable from `head`, children before their parents."""
    children = dict.fromkeys(commits, 0)
    for commit in commits.values():
        for parent in set(commit.parents) & commits.keys():
            children[parent] += 1
    ordered: list[Commit] = []
    stack = [head] if head in commits else []
    while stack:
        commit = commits[stack.pop()]
        ordered.append(commit)
        for parent in dict.fromkeys(commit.parents):
            if parent in commits:
                children[parent] -= 1
                if not children[parent]:
                    stack.append(parent)
    return ordered
