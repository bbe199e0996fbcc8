"""Explanations of what a user may do. lakeFS has no such operation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.possible_permissions import may_on_some
from anabranch.access.policies.conditions import RequestContext
from anabranch.access.policies.explain import explain, ineffective_resources, policies_that_allow
from anabranch.access.policies.permissions import ANY, Action, AllBelow, Permission
from anabranch.access.policies.policy_documents import check_action, check_effective, check_resource
from anabranch.access.policies.statements import Effect
from anabranch.access.policies.table_permissions import objects_below, permission_on
from anabranch.errors import Invalid
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Need, Operation
from anabranch.rest.protocol.resources import on_user

__all__ = ["OPERATIONS"]


class Explain(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of explainPermission."""

    user_id: str = msgspec.field(name="userId")
    action: Annotated[str, Meta(min_length=1, description="such as fs:ReadObject")]
    resource: Annotated[str, Meta(min_length=1, description="an ARN, or `*` for any resource")]
    branch: Annotated[
        str,
        Meta(description="the branch that the action changes, for conditions, if not the resource"),
    ] = ""
    source_ip: Annotated[str, Meta(description="the client's address, for conditions")] = ""
    time: (
        Annotated[
            datetime, Meta(tz=True, description="of the request, for conditions; now by default")
        ]
        | UnsetType
    ) = UNSET


class OwnPermissions(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of listOwnPermissions."""

    action: Annotated[
        tuple[str, ...], Meta(min_length=1, max_length=100, description="such as fs:WriteObject")
    ]
    resource: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            max_length=100,
            description="one for all actions, or one for each: an ARN, one that ends in `*` for "
            "any resource whose name begins so, or `*`",
        ),
    ]
    branch: Annotated[
        str,
        Meta(description="the branch that the actions change, for conditions, if not the resource"),
    ] = ""


class OwnPermission(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the caller has a permission. For a resource that ends in `*`: whether the caller may
    have it on any such resource, and in `all` whether the caller has it on each.
    """

    action: str
    resource: str
    allowed: bool
    all: bool


class OwnPermissionList(msgspec.Struct, frozen=True, kw_only=True):
    """The permissions of the caller, in the order of the actions that were given."""

    results: list[OwnPermission]


class WithoutEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A resource in the statement of this number of a policy."""

    policy: str
    statement: int
    resource: str


class PermissionExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a user has a permission. `policy` and `statement`, a number from 1, have decided;
    they are null if no statement names the permission. `groups` are those through which the user
    has the policy. Each of the policies `allowed_by` would allow it, if nothing denied it. What
    the user's policies say about the action on resources that are not the action's is
    `without_effect`.
    """

    allowed: bool
    policy: str | None
    statement: int | None
    groups: list[str]
    allowed_by: list[str]
    without_effect: list[WithoutEffect]


def explain_permission(call: Call[Explain, None]) -> PermissionExplanation:
    """Returns why a user has a permission, or does not have it."""
    params, access = call.params, call.services.access
    check_action(params.action)
    check_resource(params.resource)
    check_effective(Effect.ALLOW, [params.action], params.resource)
    username = access.users.get(params.user_id).username
    permission = permission_on(params.action, params.resource, params.branch or None)
    context = RequestContext(
        source_ip=params.source_ip or None,
        username=username,
        time=call.services.clock() if params.time is UNSET else params.time.timestamp(),
    )
    policies = access.effective_policies.of(username)
    decision = explain(policies, permission, username, context)
    every = access.policies.all()
    return PermissionExplanation(
        allowed=decision.allowed,
        policy=decision.policy or None,
        statement=decision.statement,
        groups=[
            group
            for group in access.effective_policies.groups_of(username)
            if decision.policy and access.group_attachments.exists(group, decision.policy)
        ],
        allowed_by=policies_that_allow(every, permission, username, context),
        without_effect=[
            WithoutEffect(policy=each.policy, statement=each.statement, resource=each.resource)
            for each in ineffective_resources(policies, params.action, username)
        ],
    )


def list_own_permissions(call: Call[OwnPermissions, None]) -> OwnPermissionList:
    """Returns which actions the caller may perform now, from this address. Raises Invalid for a
    number of resources that is neither 1 nor that of the actions.
    """
    params = call.params
    resources = params.resource
    if len(resources) == 1:
        resources *= len(params.action)
    if len(resources) != len(params.action):
        raise Invalid(
            f"{len(params.action)} actions and {len(resources)} resources",
            hint="Give one resource for all actions, or one for each.",
        )
    for action, resource in zip(params.action, resources, strict=True):
        check_action(action)
        check_resource(resource)
    return OwnPermissionList(
        results=[
            _own_permission(call.authenticated, action, resource, params.branch)
            for action, resource in zip(params.action, resources, strict=True)
        ]
    )


def _own_permission(actor: Actor, action: str, resource: str, branch: str) -> OwnPermission:
    if resource != ANY and resource.endswith("*"):
        prefix = resource[:-1]
        below = Permission(action, AllBelow(prefix), branch=branch or None)
        everywhere = actor.may(below)
        allowed = may_on_some(actor, action, prefix, branch)
        standing = objects_below(action, prefix)
        allowed = allowed or (
            bool(standing)
            and all(may_on_some(actor, each, objects, branch) for each, objects in standing)
        )
    else:
        allowed = actor.may(permission_on(action, resource, branch or None))
        everywhere = allowed
    return OwnPermission(action=action, resource=resource, allowed=allowed, all=everywhere)


OPERATIONS = (
    Operation(
        id="listOwnPermissions",
        tag="auth",
        method="GET",
        path="/user/permissions",
        summary="tell which actions the caller may perform on which resources",
        permission=Access.ANY_USER,
        params=OwnPermissions,
        response=OwnPermissionList,
        handler=list_own_permissions,
    ),
    Operation(
        id="explainPermission",
        tag="auth",
        method="GET",
        path="/auth/users/{userId}/explain",
        summary="explain why a user has a permission or does not have it",
        permission=(Need(Action.READ_USER, on_user),),
        params=Explain,
        response=PermissionExplanation,
        handler=explain_permission,
    ),
)
