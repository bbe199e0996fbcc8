"""Retention as plain dictionaries: the definition of active commits, walked commit by commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from anabranch.model.repositories.retention import RetentionRules
from support.garbage import DAY

__all__ = ["ModelCommit", "active_in_model"]


class ModelCommit(NamedTuple):
    """A commit: when it was made, in seconds since 1970, its first parent, the empty string for
    none, and the addresses of its objects by path.
    """

    created: float
    parent: str
    objects: Mapping[str, str]


def active_in_model(
    commits: Mapping[str, ModelCommit],
    heads: Mapping[str, str],
    tagged: Iterable[str],
    rules: RetentionRules | None,
    now: float,
) -> set[str]:
    """Returns the ids of active commits, given all commits and the heads of branches by name; `now`
    in seconds since 1970.
    """
    active = set(heads.values()) | set(tagged)
    if rules is None:
        return active | commits.keys()
    parents = {commit.parent for commit in commits.values()}
    behind = commits.keys() - parents - set(heads.values())
    starts = [(name, rules.days(branch)) for branch, name in heads.items()]
    starts += [(name, rules.default_days) for name in behind]
    for start, days in starts:
        since = now - days * DAY
        if start in behind and commits[start].created > since:
            active.add(start)
        created, parent, _ = commits[start]
        while parent:
            if created > since:
                active.add(parent)
            created, parent, _ = commits[parent]
    return active
