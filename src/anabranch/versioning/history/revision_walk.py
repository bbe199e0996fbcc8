"""Walks from a commit to its ancestors.

All functions on history take a function that reads a commit by its full id and raises NotFound
(kind commit_not_found) if it does not exist. Parents are numbered in the order in which the commit
stores them: the first parent of a merge is the head of the destination branch. (Merges of lakeFS
before its commit version 1 store the two in reverse; expressions follow the stored order, as in
lakeFS.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from anabranch.errors import Invalid, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.references.expression import MAX_COUNT, Modifier

if TYPE_CHECKING:
    from anabranch._kernel import CommitGraph

__all__ = ["ReadCommit", "ancestors", "walk_revisions"]

ReadCommit = Callable[[str], Commit]


def walk_revisions(
    read: ReadCommit,
    commit: Commit,
    modifiers: Iterable[Modifier],
    graph: CommitGraph | None = None,
) -> Commit:
    """Returns the commit that `modifiers` select from `commit`, by git's rules.

    Raises NotFound (commit_not_found) if ``~n`` goes beyond the initial commit, and Invalid
    (parent_out_of_range) if ``^n`` names a parent that a commit does not have. Reads the commits on
    the way, or follows first parents in a `graph`, which raises KernelError if it misses one: a
    number beyond the initial commit costs no more than the history.
    """
    for symbol, group in itertools.groupby(modifiers, key=lambda modifier: modifier.symbol):
        if symbol == "~":
            count = min(sum(modifier.count for modifier in group), MAX_COUNT)
            commit = _first_parent_ancestor(read, commit, count, graph)
            continue
        for modifier in group:
            commit = commit if modifier.count == 0 else _parent(read, commit, modifier.count)
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


def _first_parent_ancestor(
    read: ReadCommit, commit: Commit, count: int, graph: CommitGraph | None
) -> Commit:
    steps = 0
    if graph is not None:
        ancestor, steps = graph.first_parent_ancestor(commit.id, count)
        commit = read(ancestor)
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
