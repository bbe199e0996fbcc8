"""Authorization: whether an actor has the permissions that an operation needs.

All operations are authorized here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.access.actor import Actor
from anabranch.access.permissions import Permission
from anabranch.access.statements import ALLOW_ALL, allows
from anabranch.errors import Denied, Unauthenticated

__all__ = ["authorize"]

_EVERYTHING = (ALLOW_ALL,)


def authorize(actor: Actor | None, permissions: Iterable[Permission]) -> None:
    """Raises Unauthenticated for an anonymous request, and Denied unless the actor has all
    permissions.

    Without permissions to check, all authenticated users are authorized.
    """
    if actor is None:
        raise Unauthenticated("error authenticating request")
    if actor.statements == _EVERYTHING:
        return
    for permission in permissions:
        if not _has_permission(actor, permission):
            raise Denied(
                "insufficient permissions",
                kind="insufficient_permissions",
                hint=f"{actor.username} needs {permission.action} on {permission.resource}.",
            )


def _has_permission(actor: Actor, permission: Permission) -> bool:
    image_permission = permission.image_permission
    if allows(actor.statements, permission, actor.username):
        return True
    return image_permission is not None and allows(
        actor.statements, image_permission, actor.username
    )
