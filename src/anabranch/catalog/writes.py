"""What every write of an object has in common: whether it may be, and the step that stages it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anabranch.catalog.protection import Protection
from anabranch.errors import NotFound, PreconditionFailed
from anabranch.model.entry import Entry
from anabranch.model.names import check_path
from anabranch.model.repository import Repository
from anabranch.versioning.branches import StoredBranch
from anabranch.versioning.changes import Beside, no_others
from anabranch.versioning.core import Core
from anabranch.versioning.repositories import check_writable

__all__ = ["Expecting", "Writes"]

Expecting: TypeAlias = Callable[[Entry | None], None]
"""Raises unless the entry that is there, None where nothing is, may be written over."""


class Writes:
    """Writes of objects, on condition if wanted: with `if_absent` nothing may be there yet, which
    raises PreconditionFailed; and `expecting` is asked, several times if need be.
    """

    def __init__(self, core: Core, protection: Protection) -> None:
        self._core = core
        self._protection = protection

    def writable(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> Repository:
        """Returns the repository if an object may be written at a path of a branch.

        Raises Invalid for the path, NotFound for the branch, ReadOnlyRepository, ProtectedBranch.
        """
        return self.writable_branch(repository, branch, path, force=force)[0]

    def writable_branch(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> tuple[Repository, StoredBranch]:
        """Returns the same with the branch as it was read. Raises the same."""
        with self._core.foreseen(("writable", repository, branch)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            check_path(path)
            stored = self._core.branches.find(found, branch)
            if stored is None:
                raise _branch_not_found(branch)
            self._protection.require_writable(found, branch)
        return found, stored

    def changeable_branch(
        self, repository: str, branch: str, path: str, *, force: bool = False
    ) -> tuple[Repository, StoredBranch]:
        """Returns the repository and the branch if an object that is there may be changed.

        Raises the same as `writable_branch`, but looks at the protection first, as lakeFS does.
        """
        with self._core.foreseen(("writable", repository, branch)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            check_path(path)
            self._protection.require_writable(found, branch)
            stored = self._core.branches.read(found, branch)
        return found, stored

    def branch_of_upload(self, repository: str, branch: str, path: str) -> Repository:
        """Returns the repository if there is such a branch, whether it may be written to or not.

        Raises Invalid for the path, NotFound for the branch.
        """
        found = self._core.repositories.get(repository)
        check_path(path)
        if self._core.branches.find(found, branch) is None:
            raise _branch_not_found(branch)
        return found

    def refuse_early(
        self,
        repository: Repository,
        branch: str,
        path: str,
        *,
        if_absent: bool,
        expecting: Expecting | None,
    ) -> None:
        """Refuses before the bytes are sent what the last step would refuse anyway."""
        if not if_absent and expecting is None:
            return
        resolved = self._core.references.resolve(repository, branch)
        entry = self._core.objects.entry_at(repository, resolved, path)
        if if_absent and entry is not None:
            raise PreconditionFailed("path already exists", kind="path_already_exists")
        if expecting is not None:
            expecting(entry)

    def stage(
        self,
        repository: Repository,
        branch: str,
        path: str,
        entry: Entry,
        *,
        if_absent: bool,
        expecting: Expecting | None,
        beside: Beside = no_others,
        known: StoredBranch | None = None,
    ) -> None:
        """Stages an entry, and makes the writes `beside` it in the same step. `known` is the
        branch as it was read before, if it was.
        """
        if expecting is None:
            self._core.changes.put(
                repository, branch, path, entry, if_absent=if_absent, beside=beside, known=known
            )
            return

        def replaced(current: Entry | None) -> Entry:
            expecting(current)
            return entry

        self._core.changes.replace(repository, branch, path, replaced, beside=beside)


def _branch_not_found(branch: str) -> NotFound:
    return NotFound(f"branch '{branch}' not found", kind="branch_not_found")
