"""Use cases of commits: commit staged changes, get, log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from anabranch.actions.change import Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.error_messages import reference_errors
from anabranch.catalog.protection import Protection
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.commits.staged_commits import ClientTree
from anabranch.versioning.core import Core
from anabranch.versioning.history.commit_log import CommitLog
from anabranch.versioning.history.log import Limits, log_page
from anabranch.versioning.records import keys
from anabranch.versioning.references.references import at_branch
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor
from anabranch.versioning.trees.tree_addresses import Importable

__all__ = ["Commits"]


class Commits:
    """Use cases of commits."""

    def __init__(self, core: Core, protection: Protection, changes: Changes) -> None:
        self._core = core
        self._changes = changes
        self._protection = protection
        self._log = CommitLog(core.commits, core.history_index)

    def commit(
        self,
        repository: str,
        branch: str,
        *,
        message: str,
        committer: str | None = None,
        metadata: Mapping[str, str] | None = None,
        date: int | None = None,
        allow_empty: bool = False,
        force: bool = False,
        source_metarange: str = "",
        importable: Importable | None = None,
        since: int | None = None,
        extra_writes: Sequence[ExtraWritesFor[Commit]] = (),
    ) -> Commit:
        """Commits the staged changes of a branch, by the lake's `committer` if none is named.

        `date` is in seconds since 1970, None for now. `importable` limits the addresses that
        `source_metarange` may add. `since` is the number of sweeps that had
        begun when the entries of `source_metarange` were read. `extra_writes` adds writes to those
        of the commit.
        """
        with self._core.prefetch(("commit", repository), keys.branch(branch)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            committer = self._core.require_committer(committer)
            self._protection.require_committable(stored_repository, branch)
            stored_branch = self._core.branches.find(stored_repository, branch)
        subject = Subject(
            branch=branch,
            source_ref=branch,
            commit_message=message,
            committer=committer,
            commit_metadata=metadata or {},
        )
        places = [] if stored_branch is None else [at_branch(stored_branch)]
        change = self._changes.begin(
            "commit", stored_repository, subject, *places, with_tree=bool(source_metarange)
        )
        change.prepare()
        move = BranchChange(
            repository=stored_repository,
            branch=branch,
            fields=CommitFields(committer, message, metadata or {}, date),
            known=None if change.has_hooks else stored_branch,
            is_staged=change.is_staged,
            extra_writes=(*extra_writes, change),
            examination=change.examination,
        )
        tree = ClientTree(source_metarange, importable, since) if source_metarange else None
        commit = self._core.staged_commits.commit(move, tree=tree, allow_empty=allow_empty)
        change.end()
        return commit

    def create_record(
        self,
        repository: str,
        commit: Commit,
        *,
        importable: Importable | None = None,
        force: bool = False,
    ) -> None:
        """Adds the record of a commit that a client has made, to which no reference leads yet.
        Raises what `CommitRecords.create` raises.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._core.commit_records.create(stored_repository, commit, importable)

    def get(self, repository: str, reference: str) -> Commit:
        """Returns the commit of a reference."""
        with self._core.prefetch(("commit at", repository, reference)):
            stored_repository = self._core.repositories.get(repository)
            return self._core.references.commit(stored_repository, reference)

    def log(
        self,
        repository: str,
        reference: str,
        *,
        after: str = "",
        amount: int,
        limit: bool = False,
        first_parent: bool = False,
        since: datetime | None = None,
        stop_at: str = "",
        objects: Sequence[str] = (),
        prefixes: Sequence[str] = (),
    ) -> Page[Commit]:
        """Returns a page of a reference's history, newest first.

        With `objects` or `prefixes`, only commits that changed one of them.
        """
        with self._core.prefetch(("commit at", repository, reference)):
            stored_repository = self._core.repositories.get(repository)
            with reference_errors("ref"):
                start = self._core.references.commit(stored_repository, reference)
        limits: Limits = {
            "first_parent": first_parent,
            "since": since,
            "stop_at": self._commit_id(stored_repository, stop_at, "stop_at"),
            "after": self._commit_id(stored_repository, after, "from ref"),
        }
        if objects or prefixes:
            changed = self._core.differ.touched(stored_repository, objects, prefixes)
            commits = self._core.path_log.log(
                stored_repository, start, changed, objects, prefixes, limits
            )
        else:
            commits = self._log.log(stored_repository, start, limits)
        return log_page(commits, amount, limit=limit)

    def _commit_id(self, repository: Repository, reference: str, place: str) -> str | None:
        """Returns the id of a reference's commit, None for the empty string. Messages of errors
        begin with `place`.
        """
        if not reference:
            return None
        with reference_errors(place):
            return self._core.references.commit(repository, reference).id
