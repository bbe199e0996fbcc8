"""The addresses to which a repository's notifications are sent, which lakeFS does not have.

An address may have a secret, so responses only have its host.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.catalog.notifications.notifications import MAX_URL_CHARACTERS
from anabranch.model.notifications import BodyFormat, NotificationEvent, NotificationTarget
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class NotificationCreation(Body, frozen=True, kw_only=True):
    """An address to add."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_URL_CHARACTERS,
            description="https://host/path; responses and logs do not have it",
        ),
    ]
    format: Annotated[
        BodyFormat, Meta(description='json: all fields; slack: {"text": a sentence}')
    ] = BodyFormat.JSON
    events: Annotated[
        tuple[NotificationEvent, ...], Meta(max_length=20, description="all of them if empty")
    ] = ()


class RepositoryNotification(msgspec.Struct, frozen=True, kw_only=True):
    """An address, without its path and query. No events are all."""

    id: str
    host: str
    format: BodyFormat
    events: tuple[NotificationEvent, ...]


class RepositoryNotifications(msgspec.Struct, frozen=True):
    """All addresses of a repository, the oldest first."""

    results: list[RepositoryNotification]


class AtNotification(InRepository, frozen=True, kw_only=True):
    """Parameters of operations on an address."""

    notification: str


def list_notifications(call: Call[InRepository, None]) -> RepositoryNotifications:
    """Returns the addresses of a repository."""
    targets = call.services.catalog.notifications.list(call.params.repository)
    return RepositoryNotifications([_to_wire(target) for target in targets])


def create_notification(
    call: Call[InRepository, NotificationCreation],
) -> RepositoryNotification:
    """Adds an address."""
    body = call.body
    target = call.services.catalog.notifications.add(
        call.params.repository, body.url, format=body.format, events=body.events
    )
    return _to_wire(target)


def delete_notification(call: Call[AtNotification, None]) -> None:
    """Removes an address."""
    params = call.params
    call.services.catalog.notifications.delete(params.repository, params.notification)


def _to_wire(target: NotificationTarget) -> RepositoryNotification:
    return RepositoryNotification(
        id=target.id,
        host=urlsplit(target.url).hostname or "",
        format=target.format,
        events=target.events,
    )


_NOTIFICATIONS = "/repositories/{repository}/settings/notifications"
_CHANGE = Need(Action.UPDATE_REPOSITORY, on_repository)

OPERATIONS = (
    Operation(
        id="listRepositoryNotifications",
        tag="repositories",
        method="GET",
        path=_NOTIFICATIONS,
        summary="list the addresses to which a repository's notifications are sent",
        permission=(_CHANGE,),
        params=InRepository,
        response=RepositoryNotifications,
        handler=list_notifications,
    ),
    Operation(
        id="createRepositoryNotification",
        tag="repositories",
        method="POST",
        path=_NOTIFICATIONS,
        summary="send notifications of a repository to an address",
        # whoever receives notifications reads what they are about
        permission=(
            _CHANGE,
            Need(Action.READ_PULL_REQUEST, on_repository),
            Need(Action.READ_ACTION, on_repository),
        ),
        params=InRepository,
        body=NotificationCreation,
        status=201,
        response=RepositoryNotification,
        handler=create_notification,
    ),
    Operation(
        id="deleteRepositoryNotification",
        tag="repositories",
        method="DELETE",
        path=_NOTIFICATIONS + "/{notification}",
        summary="send notifications of a repository no longer to an address",
        permission=(_CHANGE,),
        params=AtNotification,
        status=204,
        handler=delete_notification,
    ),
)
