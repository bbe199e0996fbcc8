"""Sealing: the active staging area of a branch becomes final, and a new one gets what follows."""

from __future__ import annotations

from anabranch.keyvalue.later_durability import durable_later
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.staging.area import Staging

__all__ = ["seal_staged"]


def seal_staged(
    branches: Branches,
    staging: Staging,
    repository: Repository,
    name: str,
    known: StoredBranch | None = None,
    *,
    is_staged: bool = False,
) -> StoredBranch:
    """Seals the active staging area of a branch unless it is empty; returns the branch afterwards.
    `known` and `is_staged` are as for `BranchChange`. Raises NotFound.
    """
    for stored in branches.attempts(repository, name, known):
        if not is_staged and staging.is_empty([stored.branch.staging_token]):
            return stored
        sealed = branches.seal(repository, stored.branch)
        write = branches.write(repository, sealed)
        with durable_later():  # with the first write that relies on it
            if branches.apply(repository, stored, [write]):
                break
    return StoredBranch(sealed, write.value or b"")
