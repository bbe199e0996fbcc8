"""Pull requests: proposals to merge one branch into another, with comments and reviews."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from anabranch.errors import Invalid

__all__ = [
    "MAX_DESCRIPTION_CHARACTERS",
    "MAX_REVIEWERS",
    "MAX_TEXT_CHARACTERS",
    "MAX_TITLE_CHARACTERS",
    "Approval",
    "AskedReviewer",
    "Comment",
    "DifferenceSide",
    "Place",
    "PullRequest",
    "PullRequestStatus",
    "Review",
    "ReviewState",
    "Reviewer",
    "ReviewerKind",
    "ReviewerState",
    "User",
    "parse_status",
]

MAX_TITLE_CHARACTERS = 1_000
MAX_DESCRIPTION_CHARACTERS = 65_536
MAX_TEXT_CHARACTERS = 65_536
"""The maximum length of the text of a comment or a review."""
MAX_REVIEWERS = 100
"""How many users and groups a pull request may ask for a review."""


class PullRequestStatus(StrEnum):
    """The status of a pull request, in lakeFS's order."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


def parse_status(text: str) -> PullRequestStatus:
    """Returns the status of a name, in upper or lower case. Raises Invalid."""
    try:
        return PullRequestStatus(text.lower())
    except ValueError:
        raise Invalid(
            "bad pull request status",
            kind="invalid_pull_request_status",
            hint=f"Use open or closed, not {text[:100]!r}.",
        ) from None


class ReviewState(StrEnum):
    """What a review says of the source."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"


class ReviewerKind(StrEnum):
    """What a name that is asked for a review names."""

    USER = "user"
    GROUP = "group"


class Reviewer(msgspec.Struct, frozen=True, order=True):
    """A user, or a group of users, one of whom suffices."""

    name: str
    kind: ReviewerKind = ReviewerKind.USER


class ReviewerState(StrEnum):
    """What a reviewer says of the present commit of the source, or of the merged one."""

    WAITING = "waiting"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"


class AskedReviewer(msgspec.Struct, frozen=True):
    """A reviewer who is asked, and the answer."""

    reviewer: Reviewer
    state: ReviewerState


class User(msgspec.Struct, frozen=True):
    """A user who writes on a pull request. `name` is shown, as the committer of commits is;
    `username` identifies the user, and is empty for the authors that lakeFS has recorded.
    """

    name: str
    username: str

    def is_same(self, other: User) -> bool:
        """Returns whether both are the same user."""
        if self.username and other.username:
            return self.username == other.username
        return bool({self.name, self.username} & {other.name, other.username} - {""})


class Approval(msgspec.Struct, frozen=True):
    """The approval of one commit of the source, or the request for changes of it, by the review of
    that id.
    """

    commit_id: str
    review_id: str


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request. `approvals` has, by username, the users whose last review approves,
    `change_requests` those whose last review requests changes, both without the author.
    `reviewers` are asked for a review, in order of their names;
    `source_commit_id` is the commit of the source that was merged, `merged_commit_id` the commit
    that the merge made; both are empty until then.
    """

    id: str
    title: str
    description: str = ""
    author: User
    source: str
    destination: str
    creation_date: datetime
    status: PullRequestStatus = PullRequestStatus.OPEN
    closed_date: datetime | None = None
    merged_commit_id: str = ""
    source_commit_id: str = ""
    approvals: Mapping[str, Approval] = MappingProxyType({})
    change_requests: Mapping[str, Approval] = MappingProxyType({})
    reviewers: tuple[Reviewer, ...] = ()

    def approvals_of(self, commit_id: str) -> frozenset[str]:
        """Returns the ids of the reviews that approve a commit of the source, one for each user."""
        return frozenset(
            approval.review_id
            for approval in self.approvals.values()
            if approval.commit_id == commit_id
        )

    def answer_of(self, usernames: Collection[str], commit_id: str) -> ReviewerState:
        """Returns what these users together say of a commit of the source: a request for changes
        counts more than an approval.
        """
        reviews = (
            (self.change_requests, ReviewerState.CHANGES_REQUESTED),
            (self.approvals, ReviewerState.APPROVED),
        )
        for given, state in reviews:
            if any(name in given and given[name].commit_id == commit_id for name in usernames):
                return state
        return ReviewerState.WAITING


class DifferenceSide(StrEnum):
    """One of the two versions of an object that a difference compares."""

    BEFORE = "before"
    AFTER = "after"


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a text, counted from 1, or the row of a table that has these values in its key
    columns, in the version of an object at a commit. The side tells whether that is the version
    which a pull request changes, or the one it proposes.
    """

    commit_id: str
    side: DifferenceSide = DifferenceSide.AFTER
    line: int | None = None
    row: dict[str, Any] | None = None


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a pull request or, with a `path`, on one object of it, or a `place` in that."""

    id: str
    author: User
    text: str
    path: str = ""
    place: Place | None = None
    creation_date: datetime


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A review of the commit at which the source was then. It is `counted` if it was an approval
    that counted then: not by the author of the pull request.
    """

    id: str
    author: User
    state: ReviewState
    text: str = ""
    commit_id: str
    creation_date: datetime
    counted: bool
