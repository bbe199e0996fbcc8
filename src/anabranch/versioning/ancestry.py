"""The ways from a commit to its ancestors.

Everything about history needs one thing of a store: a function that reads a commit by its full
id and raises NotFound (kind commit_not_found) where there is none. Parents count in the order in
which the commit holds them: the first parent of a merge is the branch that was merged into. (The
merges of lakeFS before its commit version 1 hold the two the other way round; expressions follow
what is stored, as lakeFS's do.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.errors import Invalid, NotFound
from anabranch.model.commit import Commit
from anabranch.model.expression import Modifier

__all__ = ["ReadCommit", "ancestors", "walk"]

ReadCommit = Callable[[str], Commit]


def walk(read: ReadCommit, commit: Commit, modifiers: Iterable[Modifier]) -> Commit:
    """Returns the commit to which `modifiers` lead from `commit`, by git's rules.

    Raises NotFound (commit_not_found) where ``~n`` goes beyond the initial commit, and Invalid
    (parent_out_of_range) where ``^n`` asks for a parent that a commit does not have. The cost is
    that of the commits passed: a number beyond the history ends with the history.
    """
    for modifier in modifiers:
        if modifier.symbol == "~":
            commit = _first_parent_ancestor(read, commit, modifier.count)
        elif modifier.count > 0:
            commit = _parent(read, commit, modifier.count)
    return commit


def ancestors(read: ReadCommit, commit_id: str) -> dict[str, Commit]:
    """Returns the commit and all its ancestors by id. The cost is the whole history's."""
    found: dict[str, Commit] = {}
    pending = [commit_id]
    while pending:
        current = pending.pop()
        if current not in found:
            found[current] = read(current)
            pending.extend(found[current].parents)
    return found


def _first_parent_ancestor(read: ReadCommit, commit: Commit, count: int) -> Commit:
    passed = 0
    while passed < count:
        if not commit.parents:
            raise NotFound(
                "not found",
                kind="commit_not_found",
                hint=f"Commit {commit.id} has no parent. The history begins {passed} commits "
                "back, which is as far as ~ goes.",
            )
        commit = read(commit.parents[0])
        passed += 1
    return commit


def _parent(read: ReadCommit, commit: Commit, number: int) -> Commit:
    if number > len(commit.parents):
        raise Invalid(
            "ref: invalid value: validation error",
            kind="parent_out_of_range",
            hint=f"Commit {commit.id} has {len(commit.parents)} parents; ^1 is the first.",
        )
    return read(commit.parents[number - 1])
