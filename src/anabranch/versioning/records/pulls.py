"""The stored form of pull requests, their comments and reviews.

    partition           key                       value
    (the repository's)  pulls/ID                  PullRequestData, lakeFS's, with fields of ours
    (the repository's)  pull-comments/ID/COMMENT  Comment, as JSON
    (the repository's)  pull-reviews/ID/REVIEW    Review, as JSON
    pulls               repos/PARTITION/SRC/DST   SecondaryIndex, lakeFS's

lakeFS reads all keys below `pulls/` as pull requests, so comments and reviews are elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from anabranch.errors import Corrupt
from anabranch.model.pull_request import (
    Approval,
    Comment,
    PullRequest,
    PullRequestStatus,
    Review,
    Reviewer,
    ReviewerKind,
    User,
)
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "branch_index_bytes",
    "comment_from",
    "pull_bytes",
    "pull_from",
    "review_from",
]

T = TypeVar("T", Comment, Review)

_COMMENT_DECODER = msgspec.json.Decoder(Comment)
_REVIEW_DECODER = msgspec.json.Decoder(Review)

_STATUSES = tuple(PullRequestStatus)
"""The statuses in the order of lakeFS's numbers."""


def pull_bytes(pull: PullRequest) -> bytes:
    """Returns a pull request's record."""
    message = records.PullRequestData(
        id=pull.id,
        status=records.PullRequestData.Status.Name(_STATUSES.index(pull.status)),
        created_at=_timestamp(pull.creation_date),
        title=pull.title,
        author=pull.author.name,
        description=pull.description,
        source_branch=pull.source,
        destination_branch=pull.destination,
        commit_id=pull.merged_commit_id or None,
        closed_at=None if pull.closed_date is None else _timestamp(pull.closed_date),
        author_username=pull.author.username,
        source_commit_id=pull.source_commit_id,
        reviewers=_names(pull, ReviewerKind.USER),
        reviewer_groups=_names(pull, ReviewerKind.GROUP),
    )
    for reviews, stored_reviews in (
        (pull.approvals, message.approvals),
        (pull.change_requests, message.change_requests),
    ):
        for username, review in reviews.items():
            stored = stored_reviews[username]
            stored.commit_id, stored.review_id = review.commit_id, review.review_id
    return message.SerializeToString(deterministic=True)


def pull_from(raw: bytes) -> PullRequest:
    """Returns the pull request of a record. Raises Corrupt."""
    message = records.PullRequestData()
    try:
        message.ParseFromString(raw)
        return _pull(message)
    except (DecodeError, IndexError, ValueError) as error:
        raise Corrupt(f"the record of a pull request cannot be read: {error}") from error


def _pull(message: records.PullRequestData) -> PullRequest:
    return PullRequest(
        id=message.id,
        status=_STATUSES[message.status],
        creation_date=_datetime(message.created_at),
        title=message.title,
        author=User(message.author, message.author_username),
        description=message.description,
        source=message.source_branch,
        destination=message.destination_branch,
        merged_commit_id=message.commit_id,
        closed_date=_datetime(message.closed_at) if message.HasField("closed_at") else None,
        source_commit_id=message.source_commit_id,
        approvals=_reviews(message.approvals),
        change_requests=_reviews(message.change_requests),
        reviewers=tuple(
            sorted(
                [
                    *(Reviewer(name) for name in message.reviewers),
                    *(Reviewer(name, ReviewerKind.GROUP) for name in message.reviewer_groups),
                ]
            )
        ),
    )


def _names(pull: PullRequest, kind: ReviewerKind) -> list[str]:
    return sorted(reviewer.name for reviewer in pull.reviewers if reviewer.kind is kind)


def _reviews(stored: Mapping[str, records.PullRequestApproval]) -> dict[str, Approval]:
    return {
        username: Approval(review.commit_id, review.review_id)
        for username, review in stored.items()
    }


def branch_index_bytes(pull_id: str) -> bytes:
    """Returns the record that points to a pull request: as in lakeFS, by its id alone."""
    return records.SecondaryIndex(primary_key=pull_id.encode()).SerializeToString()


def comment_from(raw: bytes) -> Comment:
    """Returns the comment of a record. Raises Corrupt."""
    return _from_json(raw, _COMMENT_DECODER, "comment")


def review_from(raw: bytes) -> Review:
    """Returns the review of a record. Raises Corrupt."""
    return _from_json(raw, _REVIEW_DECODER, "review")


def _from_json(raw: bytes, decoder: msgspec.json.Decoder[T], name: str) -> T:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"the record of a {name} cannot be read: {error}") from error


def _timestamp(moment: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp


def _datetime(timestamp: Timestamp) -> datetime:
    return timestamp.ToDatetime(UTC)
