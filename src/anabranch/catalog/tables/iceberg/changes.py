"""Changes of records on a branch: each is a commit of its own, or staged with other changes.

A commit is made as others are: on branches that may be written and committed to, and with hooks,
which see the records as they would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.actions.change import Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.protection import Protection
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.errors import Denied
from anabranch.model.commits.commit import CommitFields
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.objects.changes import EntriesChange
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import at_branch
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["RecordChanges", "Writing"]


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """How a change is made: committed by the `committer` with a message, or else `staged`.
    `extra_writes` are made with it.
    """

    committer: str
    staged: bool = False
    metadata: Mapping[str, str] = {}
    extra_writes: Sequence[ExtraWritesFor[Any]] = ()


class RecordChanges:
    """Changes records on branches."""

    def __init__(self, core: Core, protection: Protection, changes: Changes) -> None:
        self._core = core
        self._protection = protection
        self._changes = changes

    def require_branch(self, place: Place) -> tuple[Repository, StoredBranch]:
        """Returns the repository and the branch. Raises Denied (kind read_only_reference) for a
        reference that is none, NotFound if there is none at all, ReadOnlyRepository.
        """
        repository = self._core.repositories.get(place.repository)
        branch = self._core.branches.find(repository, place.reference)
        if branch is None:
            self._core.references.resolve(repository, place.reference)
            raise Denied(
                f"{place.reference} is no branch: it is read only",
                kind="read_only_reference",
                hint="Name a branch in the warehouse.",
            )
        check_writable(repository, force=False)
        return repository, branch

    def is_branch(self, place: Place) -> bool:
        """Returns whether a reference is a branch, which can be changed."""
        repository = self._core.repositories.get(place.repository)
        return self._core.branches.find(repository, place.reference) is not None

    def make(
        self,
        place: Place,
        paths: Sequence[str],
        entries: EntriesChange,
        message: str,
        writing: Writing,
    ) -> None:
        """Changes the records at the paths of a branch, all or none. Raises what `entries` raises,
        ProtectedBranch, PreconditionFailed if a hook refuses it, and as `require_branch` does.
        """
        repository, stored = self.require_branch(place)
        branch = place.reference
        self._protection.require_writable(repository, branch)
        if writing.staged:
            self._core.changes.change_all(
                repository, branch, paths, entries, extra_writes=writing.extra_writes
            )
            return
        self._protection.require_committable(repository, branch)
        subject = Subject(
            branch=branch,
            source_ref=branch,
            commit_message=message,
            committer=writing.committer,
            commit_metadata=writing.metadata,
        )
        change = self._changes.begin(
            "commit", repository, subject, at_branch(stored), with_tree=True
        )
        change.prepare()
        move = BranchChange(
            repository=repository,
            branch=branch,
            fields=CommitFields(writing.committer, message, writing.metadata, None),
            extra_writes=(*writing.extra_writes, change),
            examination=change.examination,
        )
        self._core.path_commits.commit(move, paths, entries)
        change.end()
