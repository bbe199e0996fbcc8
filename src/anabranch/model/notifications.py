"""Notifications of what happens in a repository, and the addresses to which they are sent."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = [
    "BodyFormat",
    "NotificationEvent",
    "NotificationTarget",
    "NotifiedPull",
    "Occurrence",
]


class NotificationEvent(StrEnum):
    """What notifications are about."""

    PULL_REQUEST_OPENED = "pull_request_opened"
    PULL_REQUEST_MERGED = "pull_request_merged"
    REVIEW_REQUESTED = "review_requested"
    REVIEWED = "reviewed"
    COMMENTED = "commented"
    HOOK_FAILED = "hook_failed"


class BodyFormat(StrEnum):
    """The body of the requests: all fields as JSON, or one sentence, as Slack takes it."""

    JSON = "json"
    SLACK = "slack"


class NotificationTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An address of a repository's notifications; no `events` are all. The address may have a
    secret in its path or query, so it is not shown.
    """

    id: str
    url: str
    format: BodyFormat = BodyFormat.JSON
    events: tuple[NotificationEvent, ...] = ()

    def __repr__(self) -> str:
        return f"NotificationTarget(id={self.id!r})"

    def wants(self, event: NotificationEvent) -> bool:
        """Returns whether an event is sent to the address."""
        return not self.events or event in self.events


class NotifiedPull(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request that a notification is about."""

    id: str
    title: str
    author: str
    source_branch: str
    destination_branch: str


class Occurrence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What has happened; its JSON, with the id, time and repository, is the body of requests.

    `user` has caused it. `state` and `commit_id` are those of a review, or the commit of a merge;
    `reviewers` are newly asked, `text` is that of a review, or of a comment on a pull request. A
    comment on an object has neither text nor path, which not everybody may read. The last fields
    are of hooks that have failed.
    """

    event: NotificationEvent
    user: str = ""
    pull_request: NotifiedPull | None = None
    state: str = ""
    commit_id: str = ""
    reviewers: tuple[str, ...] = ()
    text: str = ""
    is_on_object: bool = False
    run_id: str = ""
    hook_event: str = ""
    branch: str = ""
    hooks: tuple[str, ...] = ()
