"""Use cases of tags: create, list, delete."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.actions.change import Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.error_messages import name_is_a_branch
from anabranch.errors import Invalid, NotFound
from anabranch.model.page import Page
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import AdmitCommits
from anabranch.versioning.records import keys
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["Tags"]


class Tags:
    """Use cases of tags."""

    def __init__(self, core: Core, changes: Changes) -> None:
        self._core = core
        self._changes = changes

    def create(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        force: bool = False,
        extra_writes: Sequence[ExtraWritesFor[Tag]] = (),
    ) -> Tag:
        """Creates a tag at the commit of `reference`; `extra_writes` adds writes to its own."""
        with self._core.prefetch(("tag at", repository, reference)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            self._core.tags.require_valid(stored_repository, name)
            try:
                commit = self._core.references.commit(stored_repository, reference)
            except (NotFound, Invalid):
                # of both errors, lakeFS reports that of the name
                self._require_no_branch(stored_repository, name)
                raise
            subject = Subject(tag=name, source_ref=commit.id, commit_id=commit.id)
            place = Resolved(commit.id)
            change = self._changes.begin("create-tag", stored_repository, subject, place)
            if change.has_hooks:  # they do not learn of a tag that cannot be made
                self._core.tags.require_free(stored_repository, name)
            change.before()
            admit = AdmitCommits(self._core.pins, stored_repository, [commit.id])
            writes = [*extra_writes, admit, change]
            tag = self._core.tags.create(stored_repository, name, commit.id, extra_writes=writes)
        change.end()
        return tag

    def _require_no_branch(self, repository: Repository, name: str) -> None:
        if self._core.branches.find(repository, name) is not None:
            raise name_is_a_branch(name) from None

    def get(self, repository: str, name: str) -> Tag:
        """Returns a tag. Raises NotFound."""
        with self._core.prefetch(("tag", repository), keys.tag(name)):
            return self._core.tags.get(self._core.repositories.get(repository), name)

    def list(self, repository: str, *, prefix: str = "", after: str = "", amount: int) -> Page[Tag]:
        """Returns a page of tags by name."""
        return self._core.tags.list(
            self._core.repositories.get(repository), prefix=prefix, after=after, amount=amount
        )

    def delete(
        self,
        repository: str,
        name: str,
        *,
        force: bool = False,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
    ) -> None:
        """Deletes a tag; `extra_writes` adds writes."""
        with self._core.prefetch(("tag", repository), keys.tag(name)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            commit_id = self._core.tags.get(stored_repository, name).commit_id
            subject = Subject(tag=name, source_ref=commit_id, commit_id=commit_id)
            place = Resolved(commit_id)
            change = self._changes.begin("delete-tag", stored_repository, subject, place)
            change.before()
            self._core.tags.delete(stored_repository, name, [*extra_writes, change])
        change.end()
