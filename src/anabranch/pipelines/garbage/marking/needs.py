"""Needs: which active commits hold a range, and which references name those commits."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation

__all__ = ["CombinedNeed", "Need", "combined", "needs_of_ranges"]


class Need(NamedTuple):
    """An active commit that holds a range. `order` is its place among the active commits, those
    that references name first; `references` are as in `roots.Active`.
    """

    order: int
    commit: str
    references: tuple[str, ...]


class CombinedNeed(NamedTuple):
    """What needs a row of one or more ranges: all references, the first commit, and how many
    commits there are.
    """

    references: list[str]
    commit: str
    commits: int


def needs_of_ranges(
    installation: Installation, repository: Repository, range_ids: Container[str], now: float
) -> dict[str, list[Need]]:
    """Returns the needs of ranges of a repository, by range; `now` is in seconds since 1970.
    Raises NotFound, Gone and Corrupt.
    """
    by_tree: dict[str, list[str]] = {}
    needs: dict[str, list[Need]] = {}
    for order, active in enumerate(installation.active(repository, now)):
        if active.tree not in by_tree:
            infos = installation.ranges(repository, active.tree)
            by_tree[active.tree] = [info.id for info in infos if info.id in range_ids]
        for range_id in by_tree[active.tree]:
            needs.setdefault(range_id, []).append(Need(order, active.commit, active.references))
    return needs


def combined(needs: Iterable[Need]) -> CombinedNeed:
    """Returns the needs of a row together; a tree holds a row once, so no commit is counted
    twice.
    """
    ordered = sorted(needs)
    references = [name for need in ordered for name in need.references]
    return CombinedNeed(references, ordered[0].commit, len(ordered))
