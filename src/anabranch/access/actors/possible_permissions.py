"""Whether a user may perform an action on any resource whose name has a prefix.

Pages disable what would be refused before the name of the resource is known: a new branch, an
object in a folder. The answer depends on the user's policies alone, never on what exists.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import ANY, BRANCH_ACTIONS, AllBelow, Permission
from anabranch.access.policies.resource_patterns import literal_prefix, split_pattern
from anabranch.access.policies.statements import Effect, user_in_names

__all__ = ["may_on_some"]


def may_on_some(actor: Actor, action: str, prefix: str, branch: str = "") -> bool:
    """Returns False only if the user may not perform an action on any resource with this prefix;
    True if that depends on a part of the name that the prefix does not have, or on a branch that is
    not given.
    """
    permission = Permission(action, AllBelow(prefix), branch=branch or None)
    if actor.is_unlimited:
        return True
    if actor.depends_on_branch and action in BRANCH_ACTIONS and not permission.changed_branch:
        return True
    context = actor.context.on_branch(permission.changed_branch)
    roots, hidden = set(), []
    for statement in actor.granted.naming(action, context):
        for pattern in statement.resources:
            literal, wildcards, is_prefix = _literal(pattern, actor.username)
            if statement.effect is Effect.DENY:
                hidden += [literal] if is_prefix else []
            elif literal.startswith(prefix):
                roots.add(literal)
            elif wildcards and prefix.startswith(literal):
                roots.add(prefix)
    return any(not root.startswith(tuple(hidden)) for root in roots)


def _literal(pattern: str, username: str) -> tuple[str, str, bool]:
    """Returns the part of a pattern before its first wildcard, its wildcards, and whether it
    matches all names that begin like that.
    """
    if pattern == ANY:
        return "", "*", True
    head, name = split_pattern(pattern)
    if not head:
        return pattern, "", False
    literal, wildcards = literal_prefix(name, user_in_names(head, username))
    return head + literal, wildcards, wildcards == "*" and name.endswith("*")
