"""Steps that all writes of objects share: permission checks, preconditions, staging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from anabranch.catalog.protection import Protection
from anabranch.errors import NotFound, PreconditionFailed
from anabranch.model.names import check_path
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["Precondition", "WriteChecks"]

Precondition: TypeAlias = Callable[[Entry | None], None]
"""Raises unless the current entry, None if there is none, may be overwritten."""


class WriteChecks:
    """Checks and stages writes of objects.

    A write with `if_absent` raises PreconditionFailed if the path has an object. `precondition` is
    called with the current entry, possibly several times.
    """

    def __init__(self, core: Core, protection: Protection) -> None:
        self._core = core
        self._protection = protection

    def require_writable(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> Repository:
        """Returns the repository if an object may be written to a path of a branch.

        Raises Invalid for the path, NotFound for the branch, ReadOnlyRepository, ProtectedBranch.
        """
        return self.require_writable_branch(repository, branch, path, force=force)[0]

    def require_writable_branch(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> tuple[Repository, StoredBranch]:
        """Returns the repository and the branch as read. Raises as `require_writable` does."""
        with self._core.prefetch(("writable", repository, branch)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            check_path(path)
            stored_branch = self._core.branches.find(stored_repository, branch)
            if stored_branch is None:
                raise _branch_not_found(branch)
            self._protection.require_writable(stored_repository, branch)
        return stored_repository, stored_branch

    def require_changeable_branch(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> tuple[Repository, StoredBranch]:
        """Returns the repository and the branch if an existing object may be changed.

        Raises as `require_writable_branch` does, but checks the protection first, as lakeFS does.
        """
        with self._core.prefetch(("writable", repository, branch)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            check_path(path)
            self._protection.require_writable(stored_repository, branch)
            stored_branch = self._core.branches.read(stored_repository, branch)
        return stored_repository, stored_branch

    def require_branch(self, repository: str, branch: str, path: str) -> Repository:
        """Returns the repository if the branch exists, writable or not.

        Raises Invalid for the path, NotFound for the branch.
        """
        stored_repository = self._core.repositories.get(repository)
        check_path(path)
        if self._core.branches.find(stored_repository, branch) is None:
            raise _branch_not_found(branch)
        return stored_repository

    def check_preconditions_early(
        self,
        repository: Repository,
        branch: str,
        path: str,
        *,
        if_absent: bool,
        precondition: Precondition | None,
    ) -> None:
        """Checks the preconditions before the bytes are uploaded; `stage` checks them again."""
        if not if_absent and precondition is None:
            return
        resolved = self._core.references.resolve(repository, branch)
        entry = self._core.objects.entry_at(repository, resolved, path)
        if if_absent and entry is not None:
            raise PreconditionFailed("path already exists", kind="path_already_exists")
        if precondition is not None:
            precondition(entry)

    def stage(
        self,
        repository: Repository,
        branch: str,
        path: str,
        entry: Entry,
        *,
        if_absent: bool,
        precondition: Precondition | None,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
        stored_branch: StoredBranch | None = None,
    ) -> None:
        """Stages an entry and applies `extra_writes` in the same step. `stored_branch` is the
        branch if the caller has read it already.
        """
        if precondition is None:
            self._core.changes.put(
                repository,
                branch,
                path,
                entry,
                if_absent=if_absent,
                extra_writes=extra_writes,
                known=stored_branch,
            )
            return
        checked = _CheckedEntry(entry, precondition)
        self._core.changes.replace(repository, branch, path, checked, extra_writes=extra_writes)


class _CheckedEntry(msgspec.Struct, frozen=True):
    """An entry that may replace the current one."""

    entry: Entry
    precondition: Precondition

    def apply(self, current: Entry | None) -> Entry:
        """Returns the entry. Raises what the precondition raises."""
        self.precondition(current)
        return self.entry


def _branch_not_found(branch: str) -> NotFound:
    return NotFound(f"branch '{branch}' not found", kind="branch_not_found")
