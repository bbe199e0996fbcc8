"""Branches: created from any reference, listed, reset, compared with their head, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.catalog.protection import Protection
from anabranch.catalog.wording import name_is_a_tag, reference_errors, update_errors
from anabranch.errors import Invalid, NotFound
from anabranch.model.branch import Branch
from anabranch.model.change import Change
from anabranch.model.commit import Commit
from anabranch.model.names import check_branch
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.versioning import keys
from anabranch.versioning.branches import StoredBranch
from anabranch.versioning.core import Core
from anabranch.versioning.extra_writes import Beside, ExtraWrites, all_of
from anabranch.versioning.merge import check_parent_number
from anabranch.versioning.repositories import check_writable
from anabranch.versioning.reset import ResetKind

__all__ = ["Branches"]


class Branches:
    """The use cases of branches."""

    def __init__(self, core: Core, protection: Protection) -> None:
        self._core = core
        self._protection = protection

    def create(
        self,
        repository: str,
        name: str,
        source: str,
        *,
        hidden: bool = False,
        force: bool = False,
        beside: Beside[Branch] | None = None,
    ) -> Branch:
        """Creates a branch at the commit that `source` means; `beside` adds writes."""
        with self._core.foreseen(("branch at", repository, source)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            check_branch(name)
            try:
                with reference_errors(f"source reference '{source}'"):
                    commit = self._core.references.commit(found, source)
            except (NotFound, Invalid):
                # of the two faults, lakeFS reports this one
                if self._core.tags.find(found, name) is not None:
                    raise name_is_a_tag(name) from None
                raise
            admit = self._core.pins.admission(found, commit.id)
            return self._core.branches.create(
                found, name, commit.id, hidden=hidden, beside=all_of(beside, admit)
            )

    def get(self, repository: str, name: str) -> Branch:
        """Returns a branch. Raises NotFound."""
        with self._core.foreseen(("branch", repository), keys.branch(name)):
            return self._core.branches.read(self._core.repositories.get(repository), name).branch

    def list(
        self,
        repository: str,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        show_hidden: bool = False,
    ) -> Page[Branch]:
        """Returns a page of branches by name."""
        return self._core.branches.list(
            self._core.repositories.get(repository),
            prefix=prefix,
            after=after,
            amount=amount,
            show_hidden=show_hidden,
        )

    def delete(
        self,
        repository: str,
        name: str,
        *,
        force: bool = False,
        beside: Beside[None] | None = None,
    ) -> None:
        """Deletes a branch with its uncommitted changes; `beside` adds writes."""
        with self._core.foreseen(("branch", repository), keys.branch(name)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            self._core.branches.delete(found, name, beside)

    def reset(
        self, repository: str, name: str, kind: ResetKind, path: str = "", *, force: bool = False
    ) -> None:
        """Takes uncommitted changes back: all, those under a prefix, or one object's."""
        with self._core.foreseen(("reset", repository), keys.branch(name)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            self._protection.require_writable(found, name)
            try:
                self._core.reset.reset(found, name, kind, path)
            except NotFound as error:
                if kind != "object":
                    raise
                message = f"getting branch: {error.message}"
                raise NotFound(message, kind=error.kind, hint=error.hint) from error

    def hard_reset(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        force: bool = False,
        beside: Beside[Commit] | None = None,
    ) -> None:
        """Moves a branch to the commit that a reference means; `beside` adds writes.

        Raises DirtyBranch if there are uncommitted changes.
        """
        found = self._core.repositories.get(repository)
        check_writable(found, force=force)
        self._protection.require_unprotected(found, name)

        def target(stored: StoredBranch, _: Commit) -> Commit:
            with reference_errors(f"hard-reset {name} to {reference}"):
                commit = self._core.references.commit(found, reference)
            self._core.committing.require_clean(found, stored.branch)
            return commit

        def admit(commit: Commit) -> ExtraWrites:
            return self._core.pins.admit_commits(found, [commit.id])

        self._core.committing.advance(found, name, target, all_of(beside, admit))

    def changes(
        self,
        repository: str,
        name: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of a branch's uncommitted changes."""
        with self._core.foreseen(("branch", repository), keys.branch(name)):
            found = self._core.repositories.get(repository)
            branch = self._core.branches.read(found, name).branch
        return self._core.difference.uncommitted(
            found,
            self._core.commits.get(found, branch.commit_id),
            branch.tokens,
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )

    def revert(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        parent_number: int = 0,
        committer: str,
        message: str = "",
        metadata: dict[str, str] | None = None,
        allow_empty: bool = False,
        force: bool = False,
        beside: Beside[Commit] | None = None,
    ) -> Commit:
        """Undoes a commit's changes by a new commit; `beside` adds writes."""
        found = self._core.repositories.get(repository)
        check_writable(found, force=force)
        check_parent_number(parent_number, least=0)
        with self._applying(found, reference):
            return self._core.merging.revert(
                found,
                name,
                reference,
                parent_number=parent_number,
                committer=committer,
                message=message,
                metadata=metadata,
                allow_empty=allow_empty,
                beside=beside,
            )

    def cherry_pick(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        parent_number: int | None = None,
        committer: str,
        message: str = "",
        metadata: dict[str, str] | None = None,
        force: bool = False,
        beside: Beside[Commit] | None = None,
    ) -> Commit:
        """Makes one commit's changes again by a new commit."""
        found = self._core.repositories.get(repository)
        check_writable(found, force=force)
        if parent_number is not None:
            check_parent_number(parent_number, least=1)
        with self._applying(found, reference):
            return self._core.merging.cherry_pick(
                found,
                name,
                reference,
                parent_number=parent_number,
                committer=committer,
                message=message,
                metadata=metadata,
                beside=beside,
            )

    @contextmanager
    def _applying(self, repository: Repository, reference: str) -> Iterator[None]:
        """Words the errors of an update that applies a commit; one of the reference to the commit
        comes before all but that of a branch that is not there.
        """
        try:
            with update_errors():
                yield
        except (NotFound, Invalid) as error:
            if error.kind != "branch_not_found":
                with reference_errors(f"get commit from ref {reference}"):
                    self._core.references.commit(repository, reference)
            raise
