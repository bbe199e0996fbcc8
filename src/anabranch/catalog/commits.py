"""Commits: made of what is staged, read, logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from anabranch.catalog.protection import Protection
from anabranch.catalog.wording import reference_errors
from anabranch.model.commit import Commit
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.versioning import keys
from anabranch.versioning.core import Core
from anabranch.versioning.extra_writes import Beside
from anabranch.versioning.log import log, log_page
from anabranch.versioning.repositories import check_writable

__all__ = ["Commits"]


class Commits:
    """The use cases of commits."""

    def __init__(self, core: Core, protection: Protection) -> None:
        self._core = core
        self._protection = protection

    def commit(
        self,
        repository: str,
        branch: str,
        *,
        message: str,
        committer: str,
        metadata: Mapping[str, str] | None = None,
        date: int | None = None,
        allow_empty: bool = False,
        force: bool = False,
        source_metarange: str = "",
        beside: Beside[Commit] | None = None,
    ) -> Commit:
        """Commits what is staged on a branch; `date` in seconds since 1970, now if None; `beside`
        adds writes to the commit's.
        """
        with self._core.foreseen(("commit", repository), keys.branch(branch)):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            self._protection.require_committable(found, branch)
            known = self._core.branches.find(found, branch)
        return self._core.committing.commit(
            found,
            branch,
            committer=committer,
            message=message,
            metadata=metadata or {},
            date=date,
            allow_empty=allow_empty,
            source_metarange=source_metarange,
            known=known,
            beside=beside,
        )

    def get(self, repository: str, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        with self._core.foreseen(("commit at", repository, reference)):
            found = self._core.repositories.get(repository)
            return self._core.references.commit(found, reference)

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
        with self._core.foreseen(("commit at", repository, reference)):
            found = self._core.repositories.get(repository)
            with reference_errors("ref"):
                start = self._core.references.commit(found, reference)
        changed = (
            self._core.difference.touched(found, objects, prefixes) if objects or prefixes else None
        )
        commits = log(
            self._core.commits.reader(found),
            start,
            first_parent=first_parent,
            since=since,
            stop_at=self._commit_id(found, stop_at, "stop_at"),
            after=self._commit_id(found, after, "from ref"),
            changed=changed,
        )
        return log_page(commits, amount, limit=limit)

    def _commit_id(self, repository: Repository, reference: str, place: str) -> str | None:
        """Returns the id of the commit that a reference means, None for the empty string; `place`
        begins the messages of errors.
        """
        if not reference:
            return None
        with reference_errors(place):
            return self._core.references.commit(repository, reference).id
