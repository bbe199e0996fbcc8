"""Explanations of decisions: the statement of a policy that grants a permission or denies it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from anabranch.access.policies.action_resources import can_apply
from anabranch.access.policies.conditions import NO_CONTEXT, RequestContext
from anabranch.access.policies.permissions import Permission
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import ALLOW_ALL, Effect, allows, matches_action
from anabranch.access.policies.table_permissions import denying_permissions

__all__ = ["Explanation", "Ineffective", "explain", "ineffective_resources", "policies_that_allow"]


class Explanation(NamedTuple):
    """Whether a permission is granted, and the policy and the number of its statement, from 1, that
    decided. Without a policy, none names the permission.
    """

    allowed: bool
    policy: str = ""
    statement: int | None = None


class Ineffective(NamedTuple):
    """A resource in a statement that names an action, whose resources never have this name."""

    policy: str
    statement: int
    resource: str


def ineffective_resources(
    policies: Iterable[Policy], action: str, username: str
) -> list[Ineffective]:
    """Returns what policies say about an action without any effect."""
    return [
        Ineffective(policy.id, number, resource)
        for policy in policies
        for number, statement in enumerate(policy.statements, start=1)
        if matches_action(statement, action, username)
        for resource in statement.resources
        if not can_apply(statement.effect, action, resource)
    ]


def explain(
    policies: Iterable[Policy],
    permission: Permission,
    username: str,
    context: RequestContext = NO_CONTEXT,
) -> Explanation:
    """Returns why a user with these effective policies has a permission or does not have it. Of
    several statements that decide, the first is named.
    """
    policies = tuple(policies)
    first = _explain(policies, permission, username, context)
    if permission.objects:
        others = [_explain(policies, each, username, context) for each in permission.objects]
        denial = next((each for each in (first, *others) if not each.allowed and each.policy), None)
        if denial is not None or first.allowed:
            return denial or first
        return next((each for each in others if not each.allowed), others[-1])
    if first.allowed:
        tables = (
            _explain(policies, each, username, context) for each in denying_permissions(permission)
        )
        first = next((each for each in tables if not each.allowed and each.policy), first)
    if first.allowed:
        return first
    # a permission may be granted by another that implies it
    for implying in permission.implied_by:
        other = _explain(policies, implying, username, context)
        if other.allowed:
            return other
    return first


def policies_that_allow(
    policies: Iterable[Policy],
    permission: Permission,
    username: str,
    context: RequestContext = NO_CONTEXT,
) -> list[str]:
    """Returns the names of the policies each of which, alone, grants a user a permission."""
    return [
        policy.id for policy in policies if explain([policy], permission, username, context).allowed
    ]


def _explain(
    policies: tuple[Policy, ...], permission: Permission, username: str, context: RequestContext
) -> Explanation:
    granted = Explanation(False)
    for policy in policies:
        for number, statement in enumerate(policy.statements, start=1):
            if statement.effect is Effect.DENY:
                if not allows([ALLOW_ALL, statement], permission, username, context):
                    return Explanation(False, policy.id, number)
            elif not granted.allowed and allows([statement], permission, username, context):
                granted = Explanation(True, policy.id, number)
    return granted
