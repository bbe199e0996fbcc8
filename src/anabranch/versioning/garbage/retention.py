"""Retention: which commits are active, that is, which must keep their objects.

A branch's head is active. A commit further down is active for as many days as its branch's rule
says *after it was replaced*: the time that counts is that of the commit which came after it on the
line of first parents. Lines begin at heads and at commits that are no commit's first parent, which
branches have left behind; such a commit is active for the default time after it was made. That is
lakeFS 1.84's definition; we add that a commit with a tag is active as long as the tag is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from anabranch.errors import Gone
from anabranch.model.branch import Branch
from anabranch.model.commit import COMMIT_VERSION, Commit
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.versioning.commit_store import Commits

__all__ = ["DAY_SECONDS", "CommitNode", "active_commits", "commit_node", "load_commit_graph"]

DAY_SECONDS = 86_400


class CommitNode(NamedTuple):
    """What retention needs of a commit: when it was made, in seconds, its first parent, the empty
    string for none, and its tree.
    """

    created: float
    first_parent: str
    metarange_id: str


def commit_node(commit: Commit) -> CommitNode:
    """Returns a commit's line. Merges of lakeFS before commit version 1 hold their parents the
    other way round.
    """
    last_first = commit.version < COMMIT_VERSION
    first_parent = commit.parents[-1 if last_first else 0] if commit.parents else ""
    created = commit.creation_date + commit.nanos / 1e9
    return CommitNode(created, first_parent, commit.metarange_id)


def load_commit_graph(commits: Commits, repository: Repository) -> dict[str, CommitNode]:
    """Returns the lines of all commits of a repository, by id.

    A scan is no snapshot: of two commits that are made while it runs it may find the second
    alone. So first parents that it has passed by are looked up.
    """
    lines = {commit.id: commit_node(commit) for commit in commits.all(repository)}
    pending = [line.first_parent for line in lines.values()]
    for parent in pending:
        if parent and parent not in lines:
            commit = commits.find(repository, parent)
            if commit is not None:
                lines[parent] = commit_node(commit)
                pending.append(lines[parent].first_parent)
    return lines


def active_commits(
    lines: Mapping[str, CommitNode],
    branches: Iterable[Branch],
    tagged: Iterable[str],
    rules: RetentionRules | None,
    now: float,
) -> set[str]:
    """Returns the ids of active commits, given all commits by id; `now` in seconds since 1970.
    Without rules all commits are active.

    The cost is that of the commits, times the number of different retention times. Raises Gone
    for a commit that is named and not there.
    """
    heads = [(branch.id, branch.commit_id) for branch in branches]
    active = {commit_id for _, commit_id in heads} | set(tagged)
    for commit_id in active:
        _known(lines, commit_id)
    if rules is None:
        return active | lines.keys()
    threshold: dict[str, float] = {}
    for branch, commit_id in heads:
        since = now - rules.days(branch) * DAY_SECONDS
        threshold[commit_id] = min(since, threshold.get(commit_id, since))
    for commit_id in _left_behind(lines):
        if commit_id not in threshold:
            threshold[commit_id] = now - rules.default_days * DAY_SECONDS
            if lines[commit_id].created > threshold[commit_id]:
                active.add(commit_id)
    # the longest times first: what they have walked over needs no second walk
    walked: set[str] = set()
    for commit_id, since in sorted(threshold.items(), key=lambda pair: pair[1]):
        active.update(_retained(lines, commit_id, since, walked))
    return active


def _left_behind(lines: Mapping[str, CommitNode]) -> Iterator[str]:
    followed = {line.first_parent for line in lines.values()}
    return (commit_id for commit_id in lines if commit_id not in followed)


def _retained(
    lines: Mapping[str, CommitNode], commit_id: str, since: float, walked: set[str]
) -> Iterator[str]:
    """Yields the commits below one that were replaced after a time."""
    while commit_id not in walked:
        walked.add(commit_id)
        line = _known(lines, commit_id)
        if not line.first_parent:
            return
        commit_id = line.first_parent
        if line.created > since:
            _known(lines, commit_id)
            yield commit_id


def _known(lines: Mapping[str, CommitNode], commit_id: str) -> CommitNode:
    line = lines.get(commit_id)
    if line is None:
        raise Gone(
            f"commit {commit_id} is missing",
            kind="metadata_missing",
            hint="Restore the key-value store from a backup.",
        )
    return line
