"""Pull requests: creates, reads, lists them, and updates them by compare-and-set.

A review changes the record of its pull request too, which holds the approvals that count. So one
condition, that this record is unchanged, makes a merge exclude other merges, closing and reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from anabranch.errors import Busy, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import check_pull_request_id
from anabranch.model.page import upper_bound
from anabranch.model.pull_request import PullRequest, PullRequestStatus, Reviewer, User
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.notifications.outbox import Outbox
from anabranch.versioning.pulls import occurrences
from anabranch.versioning.records import keys
from anabranch.versioning.records import pulls as records
from anabranch.versioning.staging.extra_writes import (
    ExtraWrites,
    ExtraWritesFor,
    collect_extra_writes,
)

__all__ = ["Pulls", "StoredPull", "remove_branch_index", "require_open"]

_MAX_ATTEMPTS = 100
_INDEX_BATCH = 1000


class StoredPull(NamedTuple):
    """A pull request with the record that it was read from, which compare-and-set compares."""

    pull: PullRequest
    record: bytes

    def unchanged(self, repository: Repository) -> Expect:
        """Returns the condition that the pull request has not changed since it was read."""
        return Expect(repository.partition, keys.pull(self.pull.id), self.record)


def require_open(pull: PullRequest) -> None:
    """Raises Invalid, with lakeFS's message, unless a pull request is open."""
    if pull.status is not PullRequestStatus.OPEN:
        raise Invalid(
            "bad pull request status",
            kind=f"pull_request_{pull.status}",
            hint=f"The pull request is {pull.status}."
            + (" Reopen it first." if pull.status is PullRequestStatus.CLOSED else ""),
        )


class Pulls:
    """The pull requests of all repositories. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        outbox: Outbox,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._outbox = outbox
        self._clock = clock

    def read(self, repository: Repository, pull_id: str) -> StoredPull:
        """Returns a pull request. Raises NotFound, and Invalid for a malformed id."""
        raw = self._keyvalue.get(repository.partition, keys.pull(pull_id))
        if raw is None:
            check_pull_request_id(pull_id)
            raise NotFound("pull request not found", kind="pull_request_not_found")
        return StoredPull(records.pull_from(raw), raw)

    def create(
        self,
        repository: Repository,
        *,
        title: str,
        description: str,
        author: User,
        source: str,
        destination: str,
        reviewers: tuple[Reviewer, ...] = (),
        extra_writes: Sequence[ExtraWritesFor[PullRequest]] = (),
    ) -> PullRequest:
        """Creates an open pull request; `extra_writes` adds writes."""
        pull = PullRequest(
            id=self._identifiers.pull_request_id(),
            title=title,
            description=description,
            author=author,
            source=source,
            destination=destination,
            creation_date=self._now(),
            reviewers=reviewers,
        )
        key = keys.pull(pull.id)
        index = keys.pull_by_branches(repository.partition, source, destination)
        writes = [
            self._write(repository, pull),
            Write(keys.PULLS_BY_BRANCHES, index, records.branch_index_bytes(pull.id)),
            *self._outbox.writes(repository, occurrences.opened(pull)),
        ]
        if reviewers:
            asked = occurrences.review_requested(pull, reviewers, author.username)
            writes += self._outbox.writes(repository, asked)
        absent = Expect(repository.partition, key, None)
        while True:
            extra, expect = collect_extra_writes(extra_writes, pull)
            if self._keyvalue.apply([*writes, *extra], [absent, *expect]):
                return pull

    def iterate(
        self, repository: Repository, *, prefix: str = "", after: str = ""
    ) -> Iterator[PullRequest]:
        """Yields the pull requests after the id `after`, newest first."""
        stem = keys.pull(prefix)
        start = max(stem, keys.pull(after) + b"\x00") if after else stem
        for _, raw in self._keyvalue.scan(repository.partition, start, upper_bound(stem)):
            yield records.pull_from(raw)

    def open_into(self, repository: Repository, destination: str) -> Iterator[StoredPull]:
        """Yields the open pull requests into a branch."""
        stem, name = keys.pull(""), destination.encode()
        for _, raw in self._keyvalue.scan(repository.partition, stem, upper_bound(stem)):
            if name not in raw:
                continue  # most records need no decoding
            pull = records.pull_from(raw)
            if pull.status is PullRequestStatus.OPEN and pull.destination == destination:
                yield StoredPull(pull, raw)

    def open_from(self, repository: Repository, source: str) -> Iterator[PullRequest]:
        """Yields the open pull requests whose source is a branch."""
        stem, name = keys.pull(""), source.encode()
        for _, raw in self._keyvalue.scan(repository.partition, stem, upper_bound(stem)):
            if name not in raw:
                continue  # most records need no decoding
            pull = records.pull_from(raw)
            if pull.status is PullRequestStatus.OPEN and pull.source == source:
                yield pull

    def attempts(self, repository: Repository, pull_id: str) -> Iterator[StoredPull]:
        """Yields a pull request for each attempt to change it, read anew: the caller ends the loop
        when `replace` has made the change. Raises NotFound, and Busy after too many attempts.
        """
        for _ in range(_MAX_ATTEMPTS):
            yield self.read(repository, pull_id)
        raise Busy("the pull request is changed by too many requests at once")

    def replace(
        self, repository: Repository, stored: StoredPull, pull: PullRequest, extra: ExtraWrites
    ) -> bool:
        """Replaces a pull request, together with extra writes, unless it has changed since it was
        read; returns whether it did.
        """
        writes, expect = extra
        return self._keyvalue.apply(
            [self._write(repository, pull), *writes], [stored.unchanged(repository), *expect]
        )

    def set_status(self, pull: PullRequest, status: PullRequestStatus) -> PullRequest:
        """Returns a pull request that is closed or opened again; the time of closing is now."""
        if status is pull.status:
            return pull
        closed = None if status is PullRequestStatus.OPEN else self._now()
        return msgspec.structs.replace(pull, status=status, closed_date=closed)

    def record_merge(
        self, repository: Repository, stored: StoredPull, *, source_commit_id: str, commit_id: str
    ) -> ExtraWrites:
        """Returns the writes that mark a pull request as merged, on condition that it has not
        changed since it was read.
        """
        merged = msgspec.structs.replace(
            self.set_status(stored.pull, PullRequestStatus.MERGED),
            merged_commit_id=commit_id,
            source_commit_id=source_commit_id,
        )
        notify = self._outbox.writes(repository, occurrences.merged(merged))
        return [self._write(repository, merged), *notify], [stored.unchanged(repository)]

    def _write(self, repository: Repository, pull: PullRequest) -> Write:
        return Write(repository.partition, keys.pull(pull.id), records.pull_bytes(pull))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def remove_branch_index(keyvalue: KeyValueStore, partition: str) -> None:
    """Removes the keys that point to the pull requests of a repository's branches."""
    stem = keys.pull_by_branches(partition)
    while True:
        rows = keyvalue.scan(keys.PULLS_BY_BRANCHES, stem, upper_bound(stem), limit=_INDEX_BATCH)
        writes: Sequence[Write] = [Write(keys.PULLS_BY_BRANCHES, key, None) for key, _ in rows]
        if not writes:
            return
        keyvalue.apply(writes)
