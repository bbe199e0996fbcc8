"""The branches of pull requests, and their repository, for changes."""

from __future__ import annotations

from anabranch.errors import NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["read_head", "require_repository"]


def require_repository(core: Core, name: str) -> Repository:
    """Returns a repository. Raises NotFound, and ReadOnlyRepository if it is read-only."""
    repository = core.repositories.get(name)
    check_writable(repository, force=False)
    return repository


def read_head(core: Core, repository: Repository, branch: str) -> str:
    """Returns the commit of a branch. Raises NotFound, with the name of the branch in the hint."""
    stored = core.branches.find(repository, branch)
    if stored is None:
        raise NotFound(
            "branch not found",
            kind="branch_not_found",
            hint=f"There is no branch {branch} in {repository.id}.",
        )
    return stored.branch.commit_id
