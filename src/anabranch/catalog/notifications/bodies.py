"""The bodies of notifications: all fields as JSON, or a sentence, as Slack and others take it.

What users write is escaped in sentences as Slack requires it, so that it can neither mention
everybody nor hide an address behind a link.
"""

from __future__ import annotations

import msgspec

from anabranch.model.notifications import BodyFormat, NotificationEvent, Occurrence
from anabranch.versioning.notifications.outbox import Notification

__all__ = ["to_body"]

_MAX_TEXT_CHARACTERS = 2000
_VERBS = {"approved": "approved", "changes_requested": "asked for changes of"}


def to_body(notification: Notification, body_format: BodyFormat) -> bytes:
    """Returns the body of the request that sends a notification."""
    if body_format is BodyFormat.SLACK:
        return msgspec.json.encode({"text": _sentence(notification)})
    occurrence = msgspec.to_builtins(notification.occurrence)
    return msgspec.json.encode(
        {
            "id": notification.id,
            "time": notification.time,
            "repository": notification.repository,
            **occurrence,
        }
    )


def _sentence(notification: Notification) -> str:
    occurrence = notification.occurrence
    repository = _escape(notification.repository)
    pull = occurrence.pull_request
    if pull is None:
        place = f" on {_escape(occurrence.branch)}" if occurrence.branch else ""
        return (
            f"Hooks of {_escape(occurrence.hook_event)}{place} in {repository} failed: "
            f"{_escape(', '.join(occurrence.hooks))} (run {occurrence.run_id})"
        )
    subject = f"“{_escape(pull.title)}” ({pull.id}) in {repository}"
    user = _escape(occurrence.user) or "Somebody"
    match occurrence.event:
        case NotificationEvent.PULL_REQUEST_OPENED:
            branches = f"{_escape(pull.source_branch)} into {_escape(pull.destination_branch)}"
            return f"{user} opened the pull request {subject}: {branches}"
        case NotificationEvent.PULL_REQUEST_MERGED:
            return f"{user} merged the pull request {subject}"
        case NotificationEvent.REVIEW_REQUESTED:
            asked = _escape(", ".join(occurrence.reviewers))
            return f"{user} asks {asked} to review the pull request {subject}"
        case NotificationEvent.REVIEWED:
            verb = _VERBS.get(occurrence.state, "reviewed")
            return f"{user} {verb} the pull request {subject}" + _quoted(occurrence)
        case _:
            where = "an object of " if occurrence.is_on_object else ""
            return f"{user} commented on {where}the pull request {subject}" + _quoted(occurrence)


def _quoted(occurrence: Occurrence) -> str:
    text = occurrence.text[:_MAX_TEXT_CHARACTERS]
    more = "…" if len(occurrence.text) > len(text) else ""
    return f": {_escape(text)}{more}" if text else ""


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
