"""Recording of the expired commits of all repositories, before a sweep removes their objects."""

from __future__ import annotations

from anabranch.errors import Gone, NotFound
from anabranch.versioning.core import Core

__all__ = ["record_expired"]


def record_expired(core: Core) -> None:
    """Records the trees of the expired commits of all repositories: a sweep of one may remove
    objects that commits of others refer to. Raises Gone for a missing commit that is referenced,
    Corrupt.
    """
    for repository in core.repositories.kept():
        try:
            core.swept_trees.record(repository)
        except (Gone, NotFound):
            if core.repositories.exists(repository):
                raise
