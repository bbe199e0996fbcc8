"""Roots: what a repository's references reach, read while others change it.

An object moves one way: from an upload to a staging area, from there into a commit, and from a
commit to others by merges. A look reads in that order, uploads first and heads last, so that what
moves meanwhile is found where it was or where it went. Only a branch that is merged into one that
was read already, and then deleted, could slip through; so looks are repeated until two of them
agree, and what any of them has found lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from anabranch.model.branch import Branch
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import active_commits, load_commit_graph

__all__ = [
    "Active",
    "ExpiredCommits",
    "Roots",
    "collect_active",
    "collect_expired",
    "collect_roots",
    "restored_addresses",
    "staging_areas",
    "upload_addresses",
]


class Roots(NamedTuple):
    """The trees of active commits, and how many commits there are and are active. Two looks agree
    if `references` are the same: the branches' records, the tags and the pins.
    """

    references: frozenset[object]
    trees: frozenset[str]
    commits: int
    active: int


class ExpiredCommits(NamedTuple):
    """The tree of a commit that is active no more, and the branch that has left it behind, the
    empty string where that is not there any more.
    """

    branch: str
    tree: str


class Active(NamedTuple):
    """An active commit, its tree, and what names the commit itself: `branch NAME`, `tag NAME`,
    `pin`.
    """

    commit: str
    tree: str
    references: tuple[str, ...] = ()


def upload_addresses(core: Core, namespace: Namespace) -> Iterator[str]:
    """Yields the addresses in a namespace of uploads in parts that are under way or were a while
    ago; and of those of which it is not known to what repository they belong.
    """
    for upload in core.uploads.all():
        block = upload.block if upload.partition else namespace.stem + upload.address
        relative = namespace.relative(block)
        if relative is not None:
            yield relative


def restored_addresses(core: Core, namespace: Namespace) -> Iterator[str]:
    """Yields the addresses in a namespace of objects that were restored a while ago."""
    for address in core.restored.addresses():
        relative = namespace.relative(address)
        if relative is not None:
            yield relative


def staging_areas(core: Core, repository: Repository) -> Iterator[Branch]:
    """Yields the branches whose staging areas hold something."""
    for branch in core.branches.all(repository):
        if not core.staging.is_empty(branch.tokens):
            yield branch


def collect_roots(
    core: Core, repository: Repository, rules: RetentionRules | None, now: float
) -> Roots:
    """Returns what references reach; `now` in seconds since 1970. Raises Gone for a commit that is
    named and not there.
    """
    pinned = core.pins.commits(repository)  # first: they become what branches and tags name
    branches = list(core.branches.all(repository))
    tagged = {tag.id: tag.commit_id for tag in core.tags.all(repository)}
    # commits come last: every commit that a branch or a tag named is among them
    lines = load_commit_graph(core.commits, repository)
    active = active_commits(lines, branches, tagged.values(), rules, now)
    active |= pinned & lines.keys()
    trees = frozenset(lines[commit_id].metarange_id for commit_id in active)
    heads = {(branch.id, branch.commit_id, branch.tokens) for branch in branches}
    references = frozenset(heads | set(tagged.items()) | pinned)
    return Roots(references, trees, len(lines), len(active))


def collect_active(
    core: Core, repository: Repository, rules: RetentionRules | None, now: float
) -> list[Active]:
    """Returns the active commits, those that something names first; `now` in seconds since 1970.
    Raises Gone for a commit that is named and not there.
    """
    pinned = core.pins.commits(repository)
    branches = list(core.branches.all(repository))
    tags = list(core.tags.all(repository))
    lines = load_commit_graph(core.commits, repository)
    active = active_commits(lines, branches, [tag.commit_id for tag in tags], rules, now)
    active |= pinned & lines.keys()
    names: dict[str, list[str]] = {}
    for branch in branches:
        names.setdefault(branch.commit_id, []).append(f"branch {branch.id}")
    for tag in tags:
        names.setdefault(tag.commit_id, []).append(f"tag {tag.id}")
    for commit_id in pinned:
        names.setdefault(commit_id, []).append("pin")
    order = sorted(active, key=lambda commit_id: (commit_id not in names, commit_id))
    return [Active(name, lines[name].metarange_id, tuple(names.get(name, ()))) for name in order]


def collect_expired(
    core: Core, repository: Repository, rules: RetentionRules | None, now: float
) -> list[ExpiredCommits]:
    """Returns the commits that are active no more, each at the branch on whose line it is, those of
    the default branch first; the rest were left behind.
    """
    branches = sorted(
        core.branches.all(repository),
        key=lambda branch: (branch.id != repository.default_branch, branch.id),
    )
    tagged = [tag.commit_id for tag in core.tags.all(repository)]
    lines = load_commit_graph(core.commits, repository)
    active = active_commits(lines, branches, tagged, rules, now)
    found: list[ExpiredCommits] = []
    seen: set[str] = set()
    for branch in branches:
        commit_id = branch.commit_id
        while commit_id in lines and commit_id not in seen:
            seen.add(commit_id)
            if commit_id not in active:
                found.append(ExpiredCommits(branch.id, lines[commit_id].metarange_id))
            commit_id = lines[commit_id].first_parent
    left = [name for name in sorted(lines) if name not in seen and name not in active]
    return found + [ExpiredCommits("", lines[name].metarange_id) for name in left]
