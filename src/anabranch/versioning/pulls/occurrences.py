"""What notifications say of pull requests, their comments and reviews."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.model.notifications import NotificationEvent, NotifiedPull, Occurrence
from anabranch.model.pull_request import Comment, PullRequest, Review, Reviewer

__all__ = ["commented", "merged", "opened", "review_requested", "reviewed"]


def opened(pull: PullRequest) -> Occurrence:
    """Returns that a pull request was created."""
    return Occurrence(
        event=NotificationEvent.PULL_REQUEST_OPENED,
        user=pull.author.username,
        pull_request=_notified(pull),
    )


def merged(pull: PullRequest) -> Occurrence:
    """Returns that a pull request was merged."""
    return Occurrence(
        event=NotificationEvent.PULL_REQUEST_MERGED,
        pull_request=_notified(pull),
        commit_id=pull.merged_commit_id,
    )


def review_requested(pull: PullRequest, added: Iterable[Reviewer], user: str = "") -> Occurrence:
    """Returns that others are asked for a review by a user, the caller without one."""
    return Occurrence(
        event=NotificationEvent.REVIEW_REQUESTED,
        user=user,
        pull_request=_notified(pull),
        reviewers=tuple(reviewer.name for reviewer in added),
    )


def reviewed(pull: PullRequest, review: Review) -> Occurrence:
    """Returns that a pull request was approved, or changes were requested."""
    return Occurrence(
        event=NotificationEvent.REVIEWED,
        user=review.author.username,
        pull_request=_notified(pull),
        state=review.state,
        commit_id=review.commit_id,
        text=review.text,
    )


def commented(pull: PullRequest, comment: Comment) -> Occurrence:
    """Returns that somebody has commented."""
    return Occurrence(
        event=NotificationEvent.COMMENTED,
        user=comment.author.username,
        pull_request=_notified(pull),
        text="" if comment.path else comment.text,
        is_on_object=bool(comment.path),
    )


def _notified(pull: PullRequest) -> NotifiedPull:
    return NotifiedPull(
        id=pull.id,
        title=pull.title,
        author=pull.author.username or pull.author.name,
        source_branch=pull.source,
        destination_branch=pull.destination,
    )
