"""Use cases of branches: create, list, reset, diff with their head, revert, delete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.actions.change import Change as ChangeWithHooks
from anabranch.actions.change import Kind, Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.commits.merge_rules import RequestedRules
from anabranch.catalog.error_messages import (
    name_is_a_tag,
    reference_errors,
    update_errors,
)
from anabranch.catalog.protection import Protection
from anabranch.catalog.read_permissions.readable_changes import readable_changes
from anabranch.catalog.references.hard_reset import NO_NEW_COMMIT, ResetToReference
from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.commits.conflict import Resolution
from anabranch.model.page import Page
from anabranch.model.references.branch import Branch, ResetKind
from anabranch.model.references.branch_ends import BranchEnd
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import AdmitCommits
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.merge import check_parent_number
from anabranch.versioning.pulls.merged_pulls import RecordMergedPulls
from anabranch.versioning.records import keys
from anabranch.versioning.references.protection import AdmitDeletion
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, ForLast

__all__ = ["Branches"]


class Branches:
    """Use cases of branches."""

    def __init__(
        self, core: Core, protection: Protection, rules: RequestedRules, changes: Changes
    ) -> None:
        self._core = core
        self._changes = changes
        self._protection = protection
        self._rules = rules

    def create(
        self,
        repository: str,
        name: str,
        source: str,
        *,
        hidden: bool = False,
        expires_at: int | None = None,
        force: bool = False,
        extra_writes: Sequence[ExtraWritesFor[Branch]] = (),
    ) -> Branch:
        """Creates a branch at the commit of `source`; `extra_writes` adds writes to its own. From
        `expires_at` on, in seconds since 1970, it cannot be changed and is deleted; 0 is never.
        Without it, the repository's rule for its name decides whether it ends and is hidden.
        """
        with self._core.prefetch(("branch at", repository, source)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            self._core.branches.require_valid(stored_repository, name)
            if expires_at and name == stored_repository.default_branch:
                self._core.branches.require_free(stored_repository, name)
                _require_no_end_of_default(stored_repository, name, expires_at)
            rule = None
            if expires_at is None and name != stored_repository.default_branch:
                rule = self._core.branches.ends.read(stored_repository).ends.of(name)
            try:
                with reference_errors(f"source reference '{source}'"):
                    # as in lakeFS, an action file that is not committed guards new branches, too
                    place = self._core.references.resolve(stored_repository, source)
                    commit = self._core.references.commit_of(stored_repository, place, source)
            except (NotFound, Invalid):
                # of both errors, lakeFS reports that of the name
                self._require_no_tag(stored_repository, name)
                raise
            subject = Subject(branch=name, source_ref=source, commit_id=commit.id)
            change = self._changes.begin("create-branch", stored_repository, subject, place)
            if change.has_hooks:  # they do not learn of a branch that cannot be made
                self._core.branches.require_free(stored_repository, name)
            change.before()
            admit = AdmitCommits(self._core.pins, stored_repository, [commit.id])
            branch = self._core.branches.create(
                stored_repository,
                name,
                commit.id,
                hidden=hidden or (rule is not None and rule.hidden),
                expires_at=self._end(rule) if rule is not None else expires_at or 0,
                extra_writes=(*extra_writes, admit, change),
            )
        change.end()
        return branch

    def _end(self, rule: BranchEnd) -> int:
        return int(self._core.clock()) + rule.seconds

    def _require_no_tag(self, repository: Repository, name: str) -> None:
        if self._core.tags.find(repository, name) is not None:
            raise name_is_a_tag(name) from None

    def get(self, repository: str, name: str) -> Branch:
        """Returns a branch. Raises NotFound."""
        with self._core.prefetch(("branch", repository), keys.branch(name)):
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
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
    ) -> None:
        """Deletes a branch with its uncommitted changes; `extra_writes` adds writes."""
        read = keys.branch(name), keys.workspace(name)
        with self._core.prefetch(("deleted branch", repository), *read):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)

            stored = self._core.branches.find(stored_repository, name)
            head = "" if stored is None else stored.branch.commit_id
            places = [Resolved(head)] if head and name != stored_repository.default_branch else []
            subject = Subject(branch=name, source_ref=head, commit_id=head)
            change = self._changes.begin("delete-branch", stored_repository, subject, *places)
            if change.has_hooks:  # they do not learn of a branch that stays
                self._core.protection.admit_deletion(stored_repository, name)
            change.before()
            admit = AdmitDeletion(self._core.protection, stored_repository, name)
            writes = [*extra_writes, admit, change]
            known = None if change.has_hooks else stored
            self._core.branches.delete(stored_repository, name, writes, known)
        change.end()

    def set_expiry(
        self, repository: str, name: str, expires_at: int, *, force: bool = False
    ) -> Branch:
        """Returns the branch with another time at which it expires, in seconds since 1970; 0 is
        never. Raises NotFound, Denied for the default branch, Invalid for a time in the past.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        _require_no_end_of_default(stored_repository, name, expires_at)
        return self._core.branches.set_expiry(stored_repository, name, expires_at)

    def reset(
        self, repository: str, name: str, kind: ResetKind, path: str = "", *, force: bool = False
    ) -> None:
        """Drops uncommitted changes: all, those under a prefix, or those of one object."""
        with self._core.prefetch(("reset", repository), keys.branch(name)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            self._protection.require_writable(stored_repository, name)
            try:
                self._core.reset.reset(stored_repository, name, kind, path)
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
        extra_writes: Sequence[ExtraWritesFor[Commit]] = (),
    ) -> None:
        """Moves a branch to the commit of a reference; `extra_writes` adds writes. Open pull
        requests into the branch whose source it then contains become merged.

        Raises DirtyBranch if there are uncommitted changes.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._protection.require_unprotected(stored_repository, name)
        pulls = RecordMergedPulls(self._core.merged_pulls, stored_repository, name, to_commit=True)
        move = BranchChange(
            repository=stored_repository,
            branch=name,
            fields=NO_NEW_COMMIT,
            extra_writes=extra_writes,
            move_writes=(pulls,),
        )
        self._core.committer.move_branch(move, ResetToReference(self._core, reference))

    def changes(
        self,
        repository: str,
        name: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> Page[Change]:
        """Returns a page of a branch's uncommitted changes: of `readable` objects, of all objects
        if that is None.
        """
        with self._core.prefetch(("branch", repository), keys.branch(name)):
            stored_repository = self._core.repositories.get(repository)
            branch = self._core.branches.read(stored_repository, name).branch
        read = partial(
            self._core.differ.uncommitted,
            stored_repository,
            self._core.commits.get(stored_repository, branch.commit_id),
            branch.tokens,
        )
        return readable_changes(
            read, readable, prefix=prefix, after=after, delimiter=delimiter, amount=amount
        )

    def revert(
        self,
        repository: str,
        name: str,
        *references: str,
        parent_number: int = 0,
        committer: str | None = None,
        message: str = "",
        metadata: dict[str, str] | None = None,
        allow_empty: bool = False,
        force: bool = False,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
        extra_writes: Sequence[ExtraWritesFor[Sequence[Commit]]] = (),
    ) -> Sequence[Commit]:
        """Commits the inverse of the changes of each commit, in order; either all or none.
        `extra_writes` adds writes; `strategy`, `resolutions` and `rights` are as for `refs.merge`.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        committer = self._core.require_committer(committer)
        check_parent_number(parent_number, least=0)
        rules = self._rules.read(repository, name, strategy, resolutions, rights)
        admit = self._core.protection.admission(stored_repository, name)
        with self._update_errors_after_reference(stored_repository, references):
            change = self._begin("revert", stored_repository, name)
            move = BranchChange(
                repository=stored_repository,
                branch=name,
                fields=CommitFields(committer, message, metadata or {}),
                extra_writes=(*extra_writes, admit, ForLast(change)),
                examination=change.examination,
            )
            made = self._core.reverter.revert(
                move,
                references,
                parent_number=parent_number,
                allow_empty=allow_empty,
                rules=rules,
            )
        change.end()
        return made

    def _begin(self, kind: Kind, repository: Repository, branch: str) -> ChangeWithHooks:
        """Returns the hooks of a change that adds commits to a branch, with its own files."""
        stored = self._core.branches.find(repository, branch)
        places = [] if stored is None else [Resolved(stored.branch.commit_id)]
        subject = Subject(branch=branch, source_ref=branch)
        return self._changes.begin(kind, repository, subject, *places)

    def cherry_pick(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        parent_number: int | None = None,
        committer: str | None = None,
        message: str = "",
        metadata: dict[str, str] | None = None,
        force: bool = False,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
        extra_writes: Sequence[ExtraWritesFor[Commit]] = (),
    ) -> Commit:
        """Applies the changes of another commit; `extra_writes` adds writes; `strategy`,
        `resolutions` and `rights` are as for `refs.merge`.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        committer = self._core.require_committer(committer)
        if parent_number is not None:
            check_parent_number(parent_number, least=1)
        rules = self._rules.read(repository, name, strategy, resolutions, rights)
        admit = self._core.protection.admission(stored_repository, name)
        with self._update_errors_after_reference(stored_repository, [reference]):
            change = self._begin("cherry-pick", stored_repository, name)
            move = BranchChange(
                repository=stored_repository,
                branch=name,
                fields=CommitFields(committer, message, metadata or {}),
                extra_writes=(*extra_writes, admit, change),
                examination=change.examination,
            )
            commit = self._core.merger.cherry_pick(
                move, reference, parent_number=parent_number, rules=rules
            )
        change.end()
        return commit

    @contextmanager
    def _update_errors_after_reference(
        self, repository: Repository, references: Sequence[str]
    ) -> Iterator[None]:
        """Translates the errors of an update that applies commits. An error of a reference to these
        replaces all others but that of a missing branch.
        """
        try:
            with update_errors():
                yield
        except (NotFound, Invalid) as error:
            if error.kind != "branch_not_found":
                for reference in references:
                    with reference_errors(f"get commit from ref {reference}"):
                        self._core.references.commit(repository, reference)
            raise


def _require_no_end_of_default(repository: Repository, name: str, expires_at: int) -> None:
    if expires_at and name == repository.default_branch:
        raise Denied(
            "the default branch of a repository cannot expire",
            kind="default_branch_undeletable",
        )
