"""Roots: the commits that a repository's references need, read while the repository changes.

An object moves in one direction: from an upload to a staging area, from there to a commit, and by
merges to other commits. A pass reads in this order, uploads first and heads last, so that it finds
an object either before or after its move. It could miss only a branch that is merged into a branch
that was already read, and is then deleted. Therefore passes are repeated until two of them agree,
and what any pass has found counts as reachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import pyarrow as pa

from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.stored_rules import RepositoryCommits

__all__ = [
    "ActiveCommit",
    "ExpiredCommit",
    "Roots",
    "StagedRows",
    "collect_active_commits",
    "collect_expired_commits",
    "collect_roots",
    "restored_addresses",
    "staging_areas",
    "upload_addresses",
]


class Roots(NamedTuple):
    """The trees of active commits, and the numbers of all and of active commits. Two passes agree
    if their `references` are equal: the records of branches, the tags and the pins.
    """

    references: frozenset[object]
    trees: frozenset[str]
    commits: int
    active: int


class StagedRows(NamedTuple):
    """Staged entries of a branch: `paths`, and `addresses` relative to the collected namespace."""

    repository: str
    branch: str
    paths: pa.StringArray
    addresses: pa.StringArray


class ExpiredCommit(NamedTuple):
    """The tree of an expired commit, and the branch whose first-parent history has the commit,
    empty if no branch has it.
    """

    branch: str
    tree: str


class ActiveCommit(NamedTuple):
    """An active commit, its tree, and the references that point at it: `branch NAME`, `tag NAME`
    and `pin`.
    """

    commit: str
    tree: str
    references: tuple[str, ...] = ()


def upload_addresses(core: Core, namespace: Namespace) -> Iterator[str]:
    """Yields the addresses in a namespace of multipart uploads that are unfinished or were recently
    finished, including those whose repository is unknown.
    """
    for upload in core.uploads.all():
        block = upload.block if upload.partition else namespace.prefix + upload.address
        relative = namespace.relative(block)
        if relative is not None:
            yield relative


def restored_addresses(core: Core, namespace: Namespace) -> Iterator[str]:
    """Yields the addresses in a namespace of objects that were recently restored."""
    for address in core.restored.addresses():
        relative = namespace.relative(address)
        if relative is not None:
            yield relative


def staging_areas(core: Core, repository: Repository) -> Iterator[Branch]:
    """Yields the branches whose staging areas are not empty, and then those that operations can
    bring back with the changes that were staged on them.
    """
    for branch in core.branches.all(repository):
        if not core.staging.is_empty(branch.tokens):
            yield branch
    for former in core.operation_retention.kept(repository).branches:
        if former.staging_token and not core.staging.is_empty(former.tokens):
            yield former


def collect_roots(commits: RepositoryCommits, pinned: AbstractSet[str]) -> Roots:
    """Returns a repository's roots, given its commits and the ids of pinned ones."""
    heads = {(branch.id, branch.commit_id, branch.tokens) for branch in commits.branches}
    references = frozenset(heads | set(commits.tagged.items()) | pinned)
    return Roots(references, commits.active_trees, len(commits.graph), len(commits.active))


def collect_active_commits(
    commits: RepositoryCommits, pinned: AbstractSet[str]
) -> list[ActiveCommit]:
    """Returns the active ones of a repository's commits, those with references first. `pinned` are
    the ids of pinned commits.
    """
    names: dict[str, list[str]] = {}
    for branch in commits.branches:
        names.setdefault(branch.commit_id, []).append(f"branch {branch.id}")
    for tag, commit_id in commits.tagged.items():
        names.setdefault(commit_id, []).append(f"tag {tag}")
    for commit_id in pinned:
        names.setdefault(commit_id, []).append("pin")
    order = sorted(commits.active, key=lambda commit_id: (commit_id not in names, commit_id))
    return [
        ActiveCommit(name, commits.graph[name].metarange_id, tuple(names.get(name, ())))
        for name in order
    ]


def collect_expired_commits(commits: RepositoryCommits, default_branch: str) -> list[ExpiredCommit]:
    """Returns the expired ones of a repository's commits, each with the branch whose first-parent
    history has it. Commits of the default branch come first, commits of no branch last.
    """
    _, _, graph, active = commits
    branches = sorted(commits.branches, key=lambda branch: (branch.id != default_branch, branch.id))
    expired: list[ExpiredCommit] = []
    seen: set[str] = set()
    for branch in branches:
        commit_id = branch.commit_id
        while commit_id in graph and commit_id not in seen:
            seen.add(commit_id)
            if commit_id not in active:
                expired.append(ExpiredCommit(branch.id, graph[commit_id].metarange_id))
            commit_id = graph[commit_id].first_parent
    others = [name for name in sorted(graph) if name not in seen and name not in active]
    return expired + [ExpiredCommit("", graph[name].metarange_id) for name in others]
