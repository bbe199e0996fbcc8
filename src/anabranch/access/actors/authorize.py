"""Authorization: whether an actor has the permissions that an operation needs.

All operations are authorized here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Permission
from anabranch.brevity import about_to_decide_long
from anabranch.errors import Denied, Unauthenticated

__all__ = ["authorize"]


def authorize(actor: Actor | None, permissions: Iterable[Permission]) -> None:
    """Raises Unauthenticated for an anonymous request, and Denied unless the actor has all
    permissions.

    Without permissions to check, all authenticated users are authorized. For a user with many
    statements, the first call of a request ends it where decisions must be brief.
    """
    if actor is None:
        raise Unauthenticated("error authenticating request")
    if actor.decides_long:
        about_to_decide_long()
    on_decision = actor.on_decision
    if actor.is_unlimited and on_decision is None:
        return
    for permission in permissions:
        allowed = actor.may(permission)
        if on_decision is not None:
            on_decision(actor, permission, allowed)
        if not allowed:
            raise Denied(
                "insufficient permissions",
                kind="insufficient_permissions",
                hint=f"{actor.username} needs {_named(permission)}.",
            )


def _named(permission: Permission) -> str:
    named = f"{permission.action} on {permission.resource}"
    objects = [f"{each.action} on {each.resource}" for each in permission.objects]
    return f"{named}, or {' and '.join(objects)}" if objects else named
