"""The trees whose objects must exist: those of commits that no sweep may have collected."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError, Corrupt, Gone, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS
from anabranch.versioning.records import keys, references

__all__ = ["required_trees"]


def required_trees(core: Core, repository: Repository, now: float) -> set[str]:
    """Returns the trees of branches and tags, and those of other active commits that no sweep has
    recorded as expired; `now` in seconds since 1970. If a record that decides is missing or
    damaged, the trees of the branches and tags that can be read.
    """
    # a clock ahead of every collector's: what any of them may have removed is not required.
    # By such a clock each pin has ended: pins last an hour
    later = now + 2 * CLOCK_SKEW_SECONDS
    try:
        return _required_trees(core, repository, later)
    except (Corrupt, Gone, Invalid, LookupError, msgspec.MsgspecError):
        return _readable_heads(core, repository)


def _required_trees(core: Core, repository: Repository, later: float) -> set[str]:
    commits = core.rules.read_commits(repository, core.rules.find(repository), later)
    heads = {branch.commit_id for branch in commits.branches} | set(commits.tagged.values())
    trees = {commits.graph[commit_id].metarange_id for commit_id in heads}
    trees |= {
        tree for tree in commits.active_trees - trees if not core.swept_trees.has(repository, tree)
    }
    return trees - {kernel.EMPTY_TREE_ID}


def _readable_heads(core: Core, repository: Repository) -> set[str]:
    trees = set()
    for bounds, decode in (
        (keys.all_branches(), references.branch_from),
        (keys.all_tags(), references.tag_from),
    ):
        for _, raw in core.keyvalue.scan(repository.partition, *bounds):
            with suppress(AnabranchError):
                trees.add(core.commits.get(repository, decode(raw).commit_id).metarange_id)
    return trees - {kernel.EMPTY_TREE_ID}
