"""Recording of the expired commits of all repositories, before a sweep removes their objects."""

from __future__ import annotations

from anabranch.errors import Gone, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import CommitGraphs

__all__ = ["record_expired"]


def record_expired(core: Core, graphs: CommitGraphs | None = None) -> None:
    """Records the trees of the expired commits of all repositories: a sweep of one may remove
    objects that commits of others refer to. `graphs` are commits that were read before. Raises
    Gone for a missing commit that is referenced, Corrupt.
    """
    for repository in core.repositories.all():
        try:
            core.swept_trees.record(repository, graphs)
        except (Gone, NotFound):
            if _exists(core, repository):
                raise


def _exists(core: Core, repository: Repository) -> bool:
    try:
        return core.repositories.get(repository.id).partition == repository.partition
    except (Gone, NotFound):
        return False
