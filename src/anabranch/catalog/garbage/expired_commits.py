"""Recording of the expired commits of all repositories, before a sweep removes their objects."""

from __future__ import annotations

from anabranch.errors import Gone, NotFound
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import CommitGraphs

__all__ = ["record_expired"]


def record_expired(core: Core, graphs: CommitGraphs | None = None) -> None:
    """Records the trees of the expired commits of all repositories: a sweep of one may remove
    objects that commits of others refer to. `graphs` are commits that were read before. Raises
    Gone for a missing commit that is referenced, Corrupt.
    """
    for repository in core.repositories.kept():
        try:
            core.swept_trees.record(repository, graphs)
        except (Gone, NotFound):
            if core.repositories.exists(repository):
                raise
