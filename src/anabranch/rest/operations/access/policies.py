"""Policies, and those of users."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, policy_arn
from anabranch.access.policies.policies import Policy as ModelPolicy
from anabranch.access.policies.policies import encode_policy, encode_resources
from anabranch.access.policies.policy_documents import check_size, parse_statement
from anabranch.access.policies.statements import Statement as ModelStatement
from anabranch.errors import Invalid
from anabranch.model.page import Page
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_anything, on_new_policy, on_policy, on_user
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS", "PolicyList", "to_policies"]

_Condition = dict[str, dict[str, list[str]]]


class Statement(Body, frozen=True, kw_only=True):
    """A statement on the wire; `resource` is a name, or a JSON list of names."""

    effect: Literal["allow", "deny"]
    resource: str
    action: Annotated[list[str], Meta(min_length=1)]
    condition: _Condition | UnsetType = UNSET


class Policy(Body, frozen=True, kw_only=True):
    """A policy on the wire; `creation_date` in seconds since 1970, ignored in requests."""

    id: str
    creation_date: int | UnsetType = UNSET
    statement: Annotated[list[Statement], Meta(min_length=1)]


class PolicyList(msgspec.Struct, frozen=True):
    """A page of policies."""

    pagination: Pagination
    results: list[Policy]


class OfPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a policy."""

    policy_id: str = msgspec.field(name="policyId")


class OfUserPolicy(OfPolicy, frozen=True, kw_only=True):
    """Parameters of operations on a policy of a user."""

    user_id: str = msgspec.field(name="userId")


class PoliciesOfUser(PageOf, frozen=True, kw_only=True):
    """Parameters of pages of a user's policies; `effective` adds those of the user's groups."""

    user_id: str = msgspec.field(name="userId")
    effective: bool = False


def to_policies(names: Page[str], policies: list[ModelPolicy | None]) -> PolicyList:
    """Returns the schema of a page of policies, given by name and without those that were deleted
    meanwhile.
    """
    present = [_policy(policy) for policy in policies if policy is not None]
    pagination = Pagination(
        has_more=names.has_more,
        max_per_page=0,
        next_offset=names.next_offset,
        results=len(present),
    )
    return PolicyList(pagination, present)


def list_policies(call: Call[PageOf, None]) -> PolicyList:
    """Returns a page of the policies that the user may read."""
    params = call.params
    page = visible_items(
        partial(call.services.access.policies.page, params.prefix),
        call.actor,
        lambda policy: policy.id,
        lambda name: Permission(Action.READ_POLICY, policy_arn(name)),
        after=params.after,
        amount=page_amount(params.amount),
    )
    return PolicyList(
        to_pagination(page, max_per_page=0), [_policy(policy) for policy in page.items]
    )


def create_policy(call: Call[None, Policy]) -> Policy:
    """Creates a policy."""
    policy = ModelPolicy(
        id=call.body.id,
        created_at=int(call.services.clock()),
        statements=_statements(call.body),
    )
    call.services.access.policies.create(policy)
    return _policy(policy)


def get_policy(call: Call[OfPolicy, None]) -> Policy:
    """Returns a policy."""
    return _policy(call.services.access.policies.get(call.params.policy_id))


def update_policy(call: Call[OfPolicy, Policy]) -> Policy:
    """Replaces the statements of a policy."""
    if call.body.id != call.params.policy_id:
        raise Invalid("can't update policy id", kind="other_policy")
    statements = _statements(call.body)
    return _policy(call.services.access.policies.replace(call.body.id, statements))


def delete_policy(call: Call[OfPolicy, None]) -> None:
    """Deletes a policy and its attachments."""
    call.services.access.policies.delete(call.params.policy_id)


def list_user_policies(call: Call[PoliciesOfUser, None]) -> PolicyList:
    """Returns a page of a user's own policies, or of all that apply to the user."""
    params, access = call.params, call.services.access
    amount = page_amount(params.amount)
    if not params.effective:
        names = access.user_attachments.page(params.user_id, params.prefix, params.after, amount)
        return to_policies(names, access.policies.find_many(names.items))
    access.users.get(params.user_id)
    policies = [
        policy
        for policy in access.effective_policies.of(params.user_id)
        if policy.id.startswith(params.prefix) and policy.id.encode() > params.after.encode()
    ]
    page = [policy.id for policy in policies[:amount]]
    has_more = len(policies) > amount
    return to_policies(Page(page, has_more, page[-1] if has_more else ""), [*policies[:amount]])


def attach_policy_to_user(call: Call[OfUserPolicy, None]) -> None:
    """Attaches a policy to a user."""
    call.services.access.user_attachments.add(call.params.user_id, call.params.policy_id)


def detach_policy_from_user(call: Call[OfUserPolicy, None]) -> None:
    """Detaches a policy from a user."""
    call.services.access.user_attachments.remove(call.params.user_id, call.params.policy_id)


def _statements(body: Policy) -> tuple[ModelStatement, ...]:
    statements = tuple(
        parse_statement(
            number,
            each.effect,
            each.action,
            each.resource,
            None if each.condition is UNSET else each.condition,
        )
        for number, each in enumerate(body.statement, start=1)
    )
    check_size(encode_policy(ModelPolicy(id="", created_at=0, statements=statements)))
    return statements


def _policy(policy: ModelPolicy) -> Policy:
    return Policy(
        id=policy.id,
        creation_date=policy.created_at,
        statement=[_statement(statement) for statement in policy.statements],
    )


def _statement(statement: ModelStatement) -> Statement:
    condition = {
        operator: {field: list(values) for field, values in fields.items()}
        for operator, fields in statement.condition.items()
    }
    return Statement(
        effect=statement.effect.value,
        resource=encode_resources(statement.resources),
        action=list(statement.actions),
        condition=condition or UNSET,
    )


_POLICIES = "/auth/policies"
_POLICY = _POLICIES + "/{policyId}"
_OF_USER = "/auth/users/{userId}/policies"

OPERATIONS = (
    Operation(
        id="listPolicies",
        tag="auth",
        method="GET",
        path=_POLICIES,
        summary="list policies",
        permission=(Need(Action.LIST_POLICIES, on_anything),),
        params=PageOf,
        response=PolicyList,
        handler=list_policies,
    ),
    Operation(
        id="createPolicy",
        tag="auth",
        method="POST",
        path=_POLICIES,
        summary="create policy",
        permission=(Need(Action.CREATE_POLICY, on_new_policy),),
        body=Policy,
        status=201,
        response=Policy,
        handler=create_policy,
    ),
    Operation(
        id="getPolicy",
        tag="auth",
        method="GET",
        path=_POLICY,
        summary="get policy",
        permission=(Need(Action.READ_POLICY, on_policy),),
        params=OfPolicy,
        response=Policy,
        handler=get_policy,
    ),
    Operation(
        id="updatePolicy",
        tag="auth",
        method="PUT",
        path=_POLICY,
        summary="update policy",
        permission=(Need(Action.UPDATE_POLICY, on_policy),),
        params=OfPolicy,
        body=Policy,
        response=Policy,
        handler=update_policy,
    ),
    Operation(
        id="deletePolicy",
        tag="auth",
        method="DELETE",
        path=_POLICY,
        summary="delete policy",
        permission=(Need(Action.DELETE_POLICY, on_policy),),
        params=OfPolicy,
        status=204,
        handler=delete_policy,
    ),
    Operation(
        id="listUserPolicies",
        tag="auth",
        method="GET",
        path=_OF_USER,
        summary="list user policies",
        permission=(Need(Action.READ_USER, on_user),),
        params=PoliciesOfUser,
        response=PolicyList,
        handler=list_user_policies,
    ),
    Operation(
        id="attachPolicyToUser",
        tag="auth",
        method="PUT",
        path=_OF_USER + "/{policyId}",
        summary="attach policy to user",
        permission=(Need(Action.ATTACH_POLICY, on_user),),
        params=OfUserPolicy,
        status=201,
        handler=attach_policy_to_user,
    ),
    Operation(
        id="detachPolicyFromUser",
        tag="auth",
        method="DELETE",
        path=_OF_USER + "/{policyId}",
        summary="detach policy from user",
        permission=(Need(Action.DETACH_POLICY, on_user),),
        params=OfUserPolicy,
        status=204,
        handler=detach_policy_from_user,
    ),
)
