"""The commits of a branch that a stream has not delivered yet, in the process that plans the
stream.

They are read from the head of the branch back, along first parents, and kept until they have been
delivered. A later call reads only the commits that are new since then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from anabranch.errors import Conflict
from anabranch.model.commits.commit import Commit
from anabranch.spark.sources.references import References

__all__ = ["BranchHistory", "StreamCommit", "commits_between"]


class StreamCommit(NamedTuple):
    """A commit and its tree."""

    id: str
    metarange_id: str


class BranchHistory:
    """The known commits of a branch, oldest first."""

    def __init__(self, branch: str) -> None:
        self._branch = branch
        self._commits: list[StreamCommit] = []

    def between(self, references: References, start: str, end: str) -> list[StreamCommit]:
        """Returns the commits from `start` to `end`, both inclusive, oldest first. Commits before
        `start` are forgotten. Raises Conflict like `commits_between`.
        """
        first, last = self._position(start), self._position(end)
        if first is None or (last is not None and last < first):
            self._commits = _compact(commits_between(references, self._branch, start, end))
            return self._commits[:]
        if last is None:
            self._extend(references, start, end)
            first, last = 0, len(self._commits) - 1
        self._commits = self._commits[first:]
        return self._commits[: last - first + 1]

    def _extend(self, references: References, start: str, end: str) -> None:
        """Adds the commits up to a new head, and drops those before `start`."""
        newest = self._commits[-1].id
        try:
            new = commits_between(references, self._branch, newest, end)
        except Conflict:  # the branch was reset to a commit that may still follow `start`
            self._commits = _compact(commits_between(references, self._branch, start, end))
            return
        self._commits = self._commits[self._position(start) :] + _compact(new[1:])

    def _position(self, commit_id: str) -> int | None:
        ids = (number for number, commit in enumerate(self._commits) if commit.id == commit_id)
        return next(ids, None)


def commits_between(references: References, branch: str, start: str, end: str) -> list[Commit]:
    """Returns the commits from `start` to `end`, both inclusive, along first parents, oldest first.
    Raises Conflict (kind branch_was_reset) if `start` is not an ancestor of `end`, which means that
    the branch was reset.
    """
    start_generation = references.commit(start).generation
    commits: list[Commit] = []
    for commit in references.log(end, first_parent=True):
        commits.append(commit)
        if commit.id == start:
            return commits[::-1]
        if commit.generation <= start_generation:
            break
    raise branch_was_reset(branch, start, end)


def branch_was_reset(branch: str, start: str, end: str) -> Conflict:
    """Returns the error for a branch whose history no longer has a commit that was delivered."""
    return Conflict(
        f"{branch}: the branch was reset: the commit {start}, up to which its changes were read,"
        f" is no longer in its history, whose last commit is {end}",
        kind="branch_was_reset",
        hint="Compare the two commits, then start a stream with a new checkpoint.",
    )


def _compact(commits: Iterable[Commit]) -> list[StreamCommit]:
    return [StreamCommit(commit.id, commit.metarange_id) for commit in commits]
