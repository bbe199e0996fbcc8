"""Needs of a range: the active commits that contain it, and the references to these commits."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation

__all__ = ["CombinedNeed", "Need", "combine_needs", "find_needs"]


class Need(NamedTuple):
    """An active commit that contains a range. `order` is its position among the active commits, of
    which those with references come first; `references` are as in `gc_roots.ActiveCommit`.
    """

    order: int
    commit: str
    references: tuple[str, ...]


class CombinedNeed(NamedTuple):
    """The needs of an entry that one or more ranges contain: all references, the first commit, and
    the number of commits.
    """

    references: list[str]
    commit: str
    commits: int


def find_needs(
    installation: Installation, repository: Repository, range_ids: Container[str], now: float
) -> dict[str, list[Need]]:
    """Returns the needs of a repository's ranges, by range id; `now` is in seconds since 1970.
    Raises NotFound, Gone and Corrupt.
    """
    by_tree: dict[str, list[str]] = {}
    needs: dict[str, list[Need]] = {}
    for order, active in enumerate(installation.active_commits(repository, now)):
        if active.tree not in by_tree:
            infos = installation.ranges(repository, active.tree)
            by_tree[active.tree] = [info.id for info in infos if info.id in range_ids]
        for range_id in by_tree[active.tree]:
            needs.setdefault(range_id, []).append(Need(order, active.commit, active.references))
    return needs


def combine_needs(needs: Iterable[Need]) -> CombinedNeed:
    """Returns the combined needs of an entry. A tree contains an entry only once, so no commit is
    counted twice.
    """
    ordered = sorted(needs)
    references = [name for need in ordered for name in need.references]
    return CombinedNeed(references, ordered[0].commit, len(ordered))
