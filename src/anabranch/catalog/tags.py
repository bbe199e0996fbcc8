"""Tags: set on any commit, listed, deleted."""

from __future__ import annotations

from anabranch.catalog.wording import name_is_a_branch
from anabranch.errors import Invalid, NotFound
from anabranch.model.names import check_tag
from anabranch.model.page import Page
from anabranch.model.tag import Tag
from anabranch.versioning import keys
from anabranch.versioning.core import Core
from anabranch.versioning.extra_writes import Beside, all_of
from anabranch.versioning.repositories import check_writable

__all__ = ["Tags"]


class Tags:
    """The use cases of tags."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def create(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        force: bool = False,
        beside: Beside[Tag] | None = None,
    ) -> Tag:
        """Creates a tag at the commit that `reference` means; `beside` adds writes."""
        with self._core.foreseen(("tag at", repository, reference)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            check_tag(name)
            try:
                commit = self._core.references.commit(found, reference)
            except (NotFound, Invalid):
                # of the two faults, lakeFS reports this one
                if self._core.branches.find(found, name) is not None:
                    raise name_is_a_branch(name) from None
                raise
            admit = self._core.pins.admission(found, commit.id)
            return self._core.tags.create(found, name, commit.id, beside=all_of(beside, admit))

    def get(self, repository: str, name: str) -> Tag:
        """Returns a tag. Raises NotFound."""
        with self._core.foreseen(("tag", repository), keys.tag(name)):
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
        beside: Beside[None] | None = None,
    ) -> None:
        """Deletes a tag; `beside` adds writes."""
        with self._core.foreseen(("tag", repository), keys.tag(name)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            self._core.tags.delete(found, name, beside)
