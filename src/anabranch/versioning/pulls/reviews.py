"""Comments on pull requests, and reviews.

A review changes the record of its pull request too, which holds the last review of each user: the
approvals that count, and the answers of the users who were asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import Page, take_page, upper_bound
from anabranch.model.pull_request import (
    Approval,
    Comment,
    Place,
    PullRequest,
    Review,
    ReviewState,
    User,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.notifications.outbox import Outbox
from anabranch.versioning.pulls import occurrences
from anabranch.versioning.pulls.pulls import Pulls, require_open
from anabranch.versioning.records import keys
from anabranch.versioning.records import pulls as records
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Reviews"]


class Reviews:
    """The comments and reviews of all pull requests. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        pulls: Pulls,
        identifiers: Identifiers,
        outbox: Outbox,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._pulls = pulls
        self._identifiers = identifiers
        self._outbox = outbox
        self._clock = clock

    def comment(
        self,
        repository: Repository,
        pull: PullRequest,
        *,
        author: User,
        text: str,
        path: str = "",
        place: Place | None = None,
        extra_writes: Sequence[ExtraWritesFor[Comment]] = (),
    ) -> Comment:
        """Adds a comment; `extra_writes` adds writes."""
        comment = Comment(
            id=self._identifiers.xid(),
            author=author,
            text=text,
            path=path,
            place=place,
            creation_date=self._now(),
        )
        key = keys.pull_comment(pull.id, comment.id)
        writes = [
            Write(repository.partition, key, msgspec.json.encode(comment)),
            *self._outbox.writes(repository, occurrences.commented(pull, comment)),
        ]
        absent = Expect(repository.partition, key, None)
        while True:
            extra, expect = collect_extra_writes(extra_writes, comment)
            if self._keyvalue.apply([*writes, *extra], [absent, *expect]):
                return comment

    def review(
        self,
        repository: Repository,
        pull_id: str,
        *,
        author: User,
        state: ReviewState,
        text: str,
        source_commit: Callable[[PullRequest], str],
        extra_writes: Sequence[ExtraWritesFor[Review]] = (),
    ) -> Review:
        """Adds a review, of the commit that `source_commit` returns; it replaces the user's
        approval, if there is one. The author's own approval is recorded, and does not count.
        `extra_writes` adds writes.

        Raises NotFound, Invalid if the pull request is not open, and what `source_commit` raises.
        """
        review_id = self._identifiers.xid()
        for stored in self._pulls.attempts(repository, pull_id):
            pull = stored.pull
            require_open(pull)
            review = Review(
                id=review_id,
                author=author,
                state=state,
                text=text,
                commit_id=source_commit(pull),
                creation_date=self._now(),
                counted=state is ReviewState.APPROVED and not author.is_same(pull.author),
            )
            approvals, change_requests = dict(pull.approvals), dict(pull.change_requests)
            approvals.pop(author.username, None)
            change_requests.pop(author.username, None)
            if not author.is_same(pull.author):
                given = approvals if state is ReviewState.APPROVED else change_requests
                given[author.username] = Approval(review.commit_id, review.id)
            changed = msgspec.structs.replace(
                pull, approvals=approvals, change_requests=change_requests
            )
            key = keys.pull_review(pull.id, review.id)
            writes = [
                Write(repository.partition, key, msgspec.json.encode(review)),
                *self._outbox.writes(repository, occurrences.reviewed(pull, review)),
            ]
            extra, expect = collect_extra_writes(extra_writes, review)
            if self._pulls.replace(repository, stored, changed, ([*writes, *extra], expect)):
                break
        return review

    def comments(
        self, repository: Repository, pull: PullRequest, *, after: str = ""
    ) -> Iterator[Comment]:
        """Yields the comments on a pull request after the id `after`, oldest first."""
        stem = keys.pull_comment(pull.id, "")
        start = keys.pull_comment(pull.id, after) + b"\x00"
        for _, raw in self._keyvalue.scan(repository.partition, start, upper_bound(stem)):
            yield records.comment_from(raw)

    def reviews(
        self, repository: Repository, pull: PullRequest, *, after: str = "", amount: int
    ) -> Page[Review]:
        """Returns a page of a pull request's reviews, oldest first."""
        stem = keys.pull_review(pull.id, "")
        start = keys.pull_review(pull.id, after) + b"\x00"
        rows = self._keyvalue.scan(repository.partition, start, upper_bound(stem), limit=amount + 1)
        return take_page(
            (records.review_from(raw) for _, raw in rows), amount, lambda each: each.id
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)
