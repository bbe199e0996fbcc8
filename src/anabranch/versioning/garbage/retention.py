"""Retention: which commits are active, that is, must keep their objects.

A branch's head is active. An ancestor is active for the number of days of its branch's rule *after
it was replaced*: the days count from the creation of the next commit on the chain of first parents.
Chains start at heads and at dangling commits, which are no commit's first parent; a dangling commit
is active for the default number of days after its own creation. This is lakeFS 1.84's definition;
in addition, a tagged commit is active as long as the tag exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from anabranch.errors import Gone
from anabranch.model.commits.commit import COMMIT_VERSION, Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.records.references import commit_from

__all__ = [
    "DAY_SECONDS",
    "CommitGraphs",
    "CommitNode",
    "active_commits",
    "commit_node",
    "former_heads",
    "load_commit_graph",
]

DAY_SECONDS = 86_400


class CommitNode(NamedTuple):
    """A commit in the graph: its creation in seconds since 1970, its first parent (empty if it has
    none), and its tree.
    """

    created: float
    first_parent: str
    metarange_id: str


def commit_node(commit: Commit) -> CommitNode:
    """Returns a commit's node. Before commit version 1, lakeFS stored the parents of a merge in
    reverse order.
    """
    last_first = commit.version < COMMIT_VERSION
    first_parent = commit.parents[-1 if last_first else 0] if commit.parents else ""
    created = commit.creation_date + commit.nanos / 1e9
    return CommitNode(created, first_parent, commit.metarange_id)


def load_commit_graph(
    commits: Commits, repository: Repository, known: Mapping[str, CommitNode] | None = None
) -> dict[str, CommitNode]:
    """Returns all commits of a repository by id, those that are examined before they are made, too.
    The records of `known` commits are not decoded: commits never change.

    A scan is not a snapshot: of two commits that are created while it runs, it may find only the
    second. Therefore first parents that the scan has missed are looked up.
    """
    # proposals first: one that is made meanwhile is found among the commits
    graph = {commit.id: commit_node(commit) for commit in commits.proposals(repository)}
    decoded = {} if known is None else known
    for commit_id, record in commits.records(repository):
        node = decoded.get(commit_id)
        if node is None:
            read = commit_from(record)
            graph[read.id] = commit_node(read)
        else:
            graph[commit_id] = node
    pending = [node.first_parent for node in graph.values()]
    for parent in pending:
        if parent and parent not in graph:
            commit = commits.find(repository, parent)
            if commit is not None:
                graph[parent] = commit_node(commit)
                pending.append(graph[parent].first_parent)
    return graph


class CommitGraphs:
    """The commits of repositories as they were read last: the passes of a collection decode only
    those that are new.
    """

    def __init__(self) -> None:
        self._graphs: dict[str, dict[str, CommitNode]] = {}

    def load(self, commits: Commits, repository: Repository) -> dict[str, CommitNode]:
        """Returns all commits of a repository by id, as `load_commit_graph` does."""
        known = self._graphs.get(repository.partition)
        graph = self._graphs[repository.partition] = load_commit_graph(commits, repository, known)
        return graph


def active_commits(
    graph: Mapping[str, CommitNode],
    branches: Iterable[Branch],
    tagged: Iterable[str],
    rules: RetentionRules | None,
    now: float,
) -> set[str]:
    """Returns the ids of active commits, given all commits by id; `now` in seconds since 1970.
    Without rules all commits are active.

    Takes time proportional to the number of commits times the number of distinct retention times.
    Raises Gone if a commit of a branch or a tag, or an ancestor that must be active, is missing.
    """
    heads = [(branch.id, branch.commit_id) for branch in branches]
    active = {commit_id for _, commit_id in heads} | set(tagged)
    for commit_id in active:
        _require_node(graph, commit_id)
    if rules is None:
        return active | graph.keys()
    threshold: dict[str, float] = {}
    for branch, commit_id in heads:
        since = now - rules.days(branch) * DAY_SECONDS
        threshold[commit_id] = min(since, threshold.get(commit_id, since))
    for commit_id in _dangling(graph):
        if commit_id not in threshold:
            threshold[commit_id] = now - rules.default_days * DAY_SECONDS
            if graph[commit_id].created > threshold[commit_id]:
                active.add(commit_id)
    # longest retention first, so that each commit needs to be visited only once
    walked: set[str] = set()
    for commit_id, since in sorted(threshold.items(), key=lambda pair: pair[1]):
        active.update(_retained_commits(graph, commit_id, since, walked))
    return active


def former_heads(
    graph: Mapping[str, CommitNode], branches: Iterable[Branch], former: Iterable[Branch]
) -> list[Branch]:
    """Returns those of the former states of branches, newest first, whose commit is not in the
    first-parent history of a branch, nor of a later one of them: the rules decide about those, as
    about all history. Commits that are missing are left out.
    """
    walked: set[str] = set()
    for branch in branches:
        _walk(graph, branch.commit_id, walked)
    heads: list[Branch] = []
    for branch in former:
        if branch.commit_id in graph and branch.commit_id not in walked:
            heads.append(branch)
            _walk(graph, branch.commit_id, walked)
    return heads


def _walk(graph: Mapping[str, CommitNode], commit_id: str, walked: set[str]) -> None:
    """Adds a commit and its first-parent ancestors."""
    while commit_id in graph and commit_id not in walked:
        walked.add(commit_id)
        commit_id = graph[commit_id].first_parent


def _dangling(graph: Mapping[str, CommitNode]) -> Iterator[str]:
    """Yields the commits that are no commit's first parent."""
    first_parents = {node.first_parent for node in graph.values()}
    return (commit_id for commit_id in graph if commit_id not in first_parents)


def _retained_commits(
    graph: Mapping[str, CommitNode], commit_id: str, since: float, walked: set[str]
) -> Iterator[str]:
    """Yields the first-parent ancestors of a commit that were replaced after a time."""
    while commit_id not in walked:
        walked.add(commit_id)
        node = _require_node(graph, commit_id)
        if not node.first_parent:
            return
        commit_id = node.first_parent
        if node.created > since:
            _require_node(graph, commit_id)
            yield commit_id


def _require_node(graph: Mapping[str, CommitNode], commit_id: str) -> CommitNode:
    node = graph.get(commit_id)
    if node is None:
        raise Gone(
            f"commit {commit_id} is missing",
            kind="metadata_missing",
            hint="Restore the key-value store from a backup.",
        )
    return node
