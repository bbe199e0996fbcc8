"""Compiled statements: a user's statements, prepared so that permissions are decided quickly.

Statements are sorted by the actions that they name when an action is first decided. For an action,
resources without wildcards are one set and those with a single `*` at the end one tuple of
prefixes, so that a decision hardly grows with the number of policies. Results are those of
`statements.allows`.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.access.conditions import NO_CONTEXT, RequestContext, applies
from anabranch.access.permissions import Action, AllBelow, Permission
from anabranch.access.statements import Effect, Statement, allows, matches_action

__all__ = ["CompiledStatements"]

_FIELDS = 6  # as in statements.py
_HEADS = ("arn:lakefs:fs:::", "arn:lakefs:auth:::")
_WILDCARDS = frozenset("*?")
_MAX_ACTIONS = 256


class _Rules:
    """The statements that name an action: resources that are allowed or denied whatever the
    request (`exact`, `prefixes`, by effect), and the statements that need a full comparison.
    """

    __slots__ = ("allowed", "allowed_prefixes", "denied", "denied_prefixes", "others", "statements")

    def __init__(self, statements: tuple[Statement, ...]) -> None:
        self.statements = statements
        exact: dict[Effect, set[str]] = {effect: set() for effect in Effect}
        prefixes: dict[Effect, set[str]] = {effect: set() for effect in Effect}
        others = []
        for statement in statements:
            compared = []
            for pattern in statement.resources:
                text = _literal(pattern)
                if text is None or statement.condition:
                    compared.append(pattern)
                elif text.endswith("*"):
                    prefixes[statement.effect].add(text[:-1])
                else:
                    exact[statement.effect].add(text)
            if compared:
                others.append(
                    Statement(
                        statement.effect, statement.actions, tuple(compared), statement.condition
                    )
                )
        self.allowed, self.denied = exact[Effect.ALLOW], exact[Effect.DENY]
        self.allowed_prefixes = tuple(prefixes[Effect.ALLOW])
        self.denied_prefixes = tuple(prefixes[Effect.DENY])
        self.others = tuple(others)

    def allow(self, permission: Permission, username: str, context: RequestContext) -> bool:
        resource = permission.resource
        if isinstance(resource, AllBelow) or not resource.startswith(_HEADS):
            return allows(self.statements, permission, username, context)
        if resource in self.denied or resource.startswith(self.denied_prefixes):
            return False
        allowed = resource in self.allowed or resource.startswith(self.allowed_prefixes)
        if not self.others:
            return allowed
        if allowed:
            everything = Statement(Effect.ALLOW, ("*",), ("*",))
            return allows((everything, *self.others), permission, username, context)
        return allows(self.others, permission, username, context)


class CompiledStatements:
    """The statements of one user. Thread-safe."""

    __slots__ = ("_by_action", "_statements", "_username", "conditional", "unlimited")

    def __init__(self, statements: Iterable[Statement], username: str) -> None:
        self._statements = tuple(statements)
        self.conditional = any(statement.condition for statement in self._statements)
        """Whether permissions depend on the request."""
        self.unlimited = _allow_everything(self._statements)
        """Whether every permission is granted, whatever the request is."""
        self._username = username
        self._by_action: dict[str, _Rules] = {}

    def allow(self, permission: Permission, context: RequestContext = NO_CONTEXT) -> bool:
        """Returns whether the statements grant the permission, as `statements.allows`."""
        rules = self._by_action.get(permission.action)
        if rules is None:
            rules = self._compile(permission.action)
        return rules.allow(permission, self._username, context)

    def naming(self, action: str, context: RequestContext) -> list[Statement]:
        """Returns the statements that name an action and apply in the context."""
        return [
            statement
            for statement in self._statements
            if matches_action(statement, action, self._username)
            and applies(statement.condition, context, denies=statement.effect is Effect.DENY)
        ]

    def _compile(self, action: str) -> _Rules:
        named = tuple(
            statement
            for statement in self._statements
            if matches_action(statement, action, self._username)
        )
        rules = _Rules(named)
        if len(self._by_action) < _MAX_ACTIONS:
            self._by_action[action] = rules
        return rules


def _allow_everything(statements: tuple[Statement, ...]) -> bool:
    if any(statement.effect is Effect.DENY for statement in statements):
        return False
    actions = {
        action
        for statement in statements
        if "*" in statement.resources and not statement.condition
        for action in statement.actions
    }
    services = {action.partition(":")[0] for action in Action}
    return "*" in actions or all(f"{service}:*" in actions for service in services)


def _literal(pattern: str) -> str | None:
    """Returns a resource without wildcards but for a `*` at its end, the empty prefix for all; None
    for a pattern that needs a full comparison.
    """
    if pattern == "*":
        return pattern
    fields = pattern.split(":", _FIELDS - 1)
    if len(fields) != _FIELDS or "${user}" in fields[5]:
        return None
    arn, partition, service, _, account, name = fields
    head = f"{arn}:{partition}:{service}::{account}:"
    # fields before the name are compared literally, and a `*` there is no wildcard
    if head not in _HEADS or not _WILDCARDS.isdisjoint(name[:-1]) or name.endswith("?"):
        return None
    return head + name
