"""The one decision: whether an actor may do something.

Every use case asks here, and nothing else in the project decides who may.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.access.actor import Actor
from anabranch.access.permissions import Permission
from anabranch.access.statements import ALLOW_ALL, allows
from anabranch.errors import Denied, Unauthenticated

__all__ = ["decide"]

_EVERYTHING = (ALLOW_ALL,)


def decide(actor: Actor | None, permissions: Iterable[Permission]) -> None:
    """Raises Unauthenticated if nobody asks, and Denied unless the actor has every permission.

    Without permissions to check, anyone who is known may.
    """
    if actor is None:
        raise Unauthenticated("error authenticating request")
    if actor.statements == _EVERYTHING:
        return
    for permission in permissions:
        if not _has(actor, permission):
            raise Denied(
                "insufficient permissions",
                kind="insufficient_permissions",
                hint=f"{actor.username} needs {permission.action} on {permission.resource}.",
            )


def _has(actor: Actor, permission: Permission) -> bool:
    other = permission.of_image
    if allows(actor.statements, permission, actor.username):
        return True
    return other is not None and allows(actor.statements, other, actor.username)
