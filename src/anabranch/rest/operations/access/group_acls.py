"""Access control lists of groups."""

from __future__ import annotations

import http

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.errors import NotFound
from anabranch.http.response import Response
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_group
from anabranch.rest.protocol.responses import json_response

__all__ = ["OPERATIONS"]


class ACL(Body, frozen=True, kw_only=True):
    """The permission of a group: Read, Write, Super or Admin."""

    permission: str


class OfGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a group."""

    group_id: str = msgspec.field(name="groupId")


class NoACL(msgspec.Struct, frozen=True):
    """The body of the response for a group that is missing, or, with `no_acl`, has no list."""

    message: str
    no_acl: bool


def get_group_acl(call: Call[OfGroup, None]) -> ACL | Response:
    """Returns the permission of a group."""
    try:
        return ACL(permission=call.services.access.group_acls.get(call.params.group_id))
    except NotFound as error:
        if error.kind != "acl_not_found":
            raise
        return json_response(http.HTTPStatus.NOT_FOUND, NoACL(error.message, no_acl=True))


def set_group_acl(call: Call[OfGroup, ACL]) -> None:
    """Sets the permission of a group."""
    now = int(call.services.clock())
    call.services.access.group_acls.set(call.params.group_id, call.body.permission, now)


_ACL = "/auth/groups/{groupId}/acl"

OPERATIONS = (
    Operation(
        id="setGroupACL",
        tag="auth",
        method="POST",
        path=_ACL,
        summary="set ACL of group",
        permission=(Need(Action.ATTACH_POLICY, on_group),),
        params=OfGroup,
        body=ACL,
        status=201,
        handler=set_group_acl,
    ),
    Operation(
        id="getGroupACL",
        tag="auth",
        method="GET",
        path=_ACL,
        summary="get ACL of group",
        permission=(Need(Action.READ_GROUP, on_group),),
        params=OfGroup,
        response=ACL,
        handler=get_group_acl,
    ),
)
