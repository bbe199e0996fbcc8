"""Walks from a commit to its ancestors.

All functions on history take a function that reads a commit by its full id and raises NotFound
(kind commit_not_found) if it does not exist. Parents are numbered in the order in which the commit
stores them: the first parent of a merge is the head of the destination branch. (Merges of lakeFS
before its commit version 1 store the two in reverse; expressions follow the stored order, as in
lakeFS.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.errors import Invalid, NotFound
from anabranch.model.commit import Commit
from anabranch.model.expression import Modifier

__all__ = ["ReadCommit", "ancestors", "walk_revisions"]

ReadCommit = Callable[[str], Commit]


def walk_revisions(read: ReadCommit, commit: Commit, modifiers: Iterable[Modifier]) -> Commit:
    """Returns the commit that `modifiers` select from `commit`, by git's rules.

    Raises NotFound (commit_not_found) if ``~n`` goes beyond the initial commit, and Invalid
    (parent_out_of_range) if ``^n`` names a parent that a commit does not have. Reads the commits on
    the way: a number beyond the initial commit costs no more than the history.
    """
    for modifier in modifiers:
        if modifier.symbol == "~":
            commit = _first_parent_ancestor(read, commit, modifier.count)
        elif modifier.count > 0:
            commit = _parent(read, commit, modifier.count)
    return commit


def ancestors(read: ReadCommit, commit_id: str) -> dict[str, Commit]:
    """Returns the commit and all its ancestors by id. Reads the whole history."""
    commits: dict[str, Commit] = {}
    pending = [commit_id]
    while pending:
        current = pending.pop()
        if current not in commits:
            commits[current] = read(current)
            pending.extend(commits[current].parents)
    return commits


def _first_parent_ancestor(read: ReadCommit, commit: Commit, count: int) -> Commit:
    steps = 0
    while steps < count:
        if not commit.parents:
            raise NotFound(
                "not found",
                kind="commit_not_found",
                hint=f"Commit {commit.id} has no parent. The history begins {steps} commits "
                "back: use a smaller number after ~.",
            )
        commit = read(commit.parents[0])
        steps += 1
    return commit


def _parent(read: ReadCommit, commit: Commit, number: int) -> Commit:
    if number > len(commit.parents):
        raise Invalid(
            "ref: invalid value: validation error",
            kind="parent_out_of_range",
            hint=f"Commit {commit.id} has {len(commit.parents)} parents; ^1 is the first.",
        )
    return read(commit.parents[number - 1])
