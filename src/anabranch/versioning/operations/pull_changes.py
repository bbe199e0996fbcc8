"""Changes of pull requests in the operation log: what it has of their records, and their inverse.

Reviews are not in the log: it has the records without them, and without descriptions that did not
change. So undo changes back what an operation has changed, and leaves all else as it is.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import Conflict
from anabranch.model.pull_request import MAX_REVIEWERS, PullRequest, PullRequestStatus, Reviewer
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.operations.refusals import changed_since
from anabranch.versioning.records.pulls import pull_from

__all__ = ["logged_pulls", "undone_pull", "with_state_of", "without_texts"]

_STATE = ("status", "closed_date", "merged_commit_id", "source_commit_id")
_PARTS = {
    _STATE: "is {0.status}",
    ("title",): "has another title",
    ("description",): "has another description",
}
"""What is changed together, and what to say of a pull request in which it has changed since."""


def logged_pulls(before: bytes | None, after: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Returns the records of a pull request, before and after a change, as the log has them."""
    old, new = (None if raw is None else _without_reviews(raw) for raw in (before, after))
    if old is None or new is None or old.description == new.description:
        for message in (old, new):
            if message is not None:
                message.ClearField("description")
    return _bytes(old), _bytes(new)


def without_texts(raw: bytes | None) -> bytes | None:
    """Returns a record that the log has without what users have written, which may have to be
    erased.
    """
    message = None if raw is None else _without_reviews(raw)
    if message is not None:
        message.ClearField("title")
        message.ClearField("description")
    return _bytes(message)


def with_state_of(current: PullRequest, before: PullRequest) -> PullRequest:
    """Returns a pull request that is open, closed or merged as another version of it is."""
    return msgspec.structs.replace(current, **{each: getattr(before, each) for each in _STATE})


def undone_pull(
    current: PullRequest, before: bytes | None, after: bytes | None, now: float
) -> PullRequest:
    """Returns a pull request without a change that the log has. One that was created is closed,
    since none is ever deleted.

    Raises Conflict if what was changed has changed since.
    """
    if after is None:
        raise _changed(current, "was deleted")
    new = pull_from(after)
    if before is None:
        if current.status is not PullRequestStatus.OPEN:
            raise _changed(current, _PARTS[_STATE])
        return msgspec.structs.replace(
            current,
            status=PullRequestStatus.CLOSED,
            closed_date=datetime.fromtimestamp(now, UTC),
        )
    old = pull_from(before)
    for fields, reason in _PARTS.items():
        if _values(old, fields) == _values(new, fields):
            continue
        if _values(current, fields) != _values(new, fields):
            raise _changed(current, reason)
        current = msgspec.structs.replace(current, **{each: getattr(old, each) for each in fields})
    if old.reviewers == new.reviewers:
        return current
    reviewers = _reviewers(current, frozenset(old.reviewers), frozenset(new.reviewers))
    return msgspec.structs.replace(current, reviewers=reviewers)


def _reviewers(
    current: PullRequest, old: frozenset[Reviewer], new: frozenset[Reviewer]
) -> tuple[Reviewer, ...]:
    """Returns who is asked for a review without a change from `old` to `new`."""
    if current.status is not PullRequestStatus.OPEN:
        raise _changed(current, _PARTS[_STATE])
    asked = set(current.reviewers)
    undone = asked - (new - old) | (old - new)
    if not (new - old <= asked) or asked & (old - new) or len(undone) > MAX_REVIEWERS:
        raise _changed(current, "asks others for a review")
    return tuple(sorted(undone))


def _changed(current: PullRequest, reason: str) -> Conflict:
    return changed_since(f"the pull request {current.id} {reason.format(current)} now")


def _values(pull: PullRequest, fields: tuple[str, ...]) -> list[object]:
    return [getattr(pull, each) for each in fields]


def _without_reviews(raw: bytes) -> records.PullRequestData:
    message = records.PullRequestData()
    with suppress(DecodeError):  # of a damaged record only that it was there
        message.ParseFromString(raw)
    message.ClearField("approvals")
    message.ClearField("change_requests")
    return message


def _bytes(message: records.PullRequestData | None) -> bytes | None:
    return None if message is None else message.SerializeToString(deterministic=True)
