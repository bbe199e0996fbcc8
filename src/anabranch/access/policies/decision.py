"""Compiled statements: a user's statements, prepared so that permissions are decided quickly.

Nothing is prepared before it is needed: statements are sorted by the actions that they name when an
action is first decided, and by their conditions, so that each condition is evaluated once. Results
are those of `statements.allows`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from anabranch.access.policies.conditions import (
    NO_CONTEXT,
    Condition,
    RequestContext,
    applies,
    names_branch,
)
from anabranch.access.policies.permissions import (
    ANY,
    CATALOG,
    TABLE_ACTIONS,
    Action,
    AllBelow,
    Permission,
)
from anabranch.access.policies.resource_patterns import (
    RESOURCE_HEADS,
    ResourcePatterns,
    split_pattern,
)
from anabranch.access.policies.statements import Effect, Statement, allows, matches_action

__all__ = ["CompiledStatements"]

_MAX_ACTIONS = 256
_BRIEF_NAMES = 100
"""How many patterns of resources are prepared briefly: each takes some ten microseconds. As many
values of conditions are compared briefly, by each decision anew.
"""
_BRIEF_CHARACTERS = 16 << 10
"""How long all patterns and values may be together: to prepare one takes about a microsecond for
each of its characters, up to six where every second one is a wildcard.
"""


Value = TypeVar("Value")


class _Prepared(Generic[Value]):
    """What is computed when it is first read, and is an attribute from then on.

    Python 3.11's `cached_property` has a lock that all objects share: the event loop would wait for
    what a thread computes for another user.
    """

    def __init__(self, compute: Callable[[CompiledStatements], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: CompiledStatements, _owner: type[CompiledStatements]) -> Value:
        value = self._compute(instance)
        instance.__dict__[self._compute.__name__] = value
        return value


class _Rules(NamedTuple):
    """What the statements with one condition, empty for none, allow and deny."""

    condition: Condition
    allowed: ResourcePatterns
    denied: ResourcePatterns


class CompiledStatements:
    """The statements of one user. Thread-safe."""

    def __init__(self, statements: Iterable[Statement], username: str) -> None:
        self._statements = tuple(statements)
        self._username = username
        self._by_action: dict[str, tuple[_Rules, ...]] = {}
        self._compiling = threading.Lock()
        self.take_long = _take_long(self._statements)
        """Whether decisions may take long: the first on an action prepares its statements."""

    @_Prepared
    def conditional(self) -> bool:
        """Whether permissions depend on the request."""
        return any(statement.condition for statement in self._statements)

    @_Prepared
    def depend_on_branch(self) -> bool:
        """Whether permissions depend on the branch that an action changes."""
        return any(
            names_branch(each.condition) or _may_name_branch(each, self._username)
            for each in self._statements
        )

    @_Prepared
    def deny_tables(self) -> bool:
        """Whether a statement denies anything on tables, views or their namespaces."""
        return any(
            statement.effect is Effect.DENY and _names_tables(statement, self._username)
            for statement in self._statements
        )

    @_Prepared
    def unlimited(self) -> bool:
        """Whether every permission is granted, whatever the request is."""
        return _allow_everything(self._statements)

    def allow(self, permission: Permission, context: RequestContext = NO_CONTEXT) -> bool:
        """Returns whether the statements grant the permission, as `statements.allows`."""
        return self.decide(permission, context) is Effect.ALLOW

    def deny(self, permission: Permission, context: RequestContext = NO_CONTEXT) -> bool:
        """Returns whether a statement denies a permission on resources of one name or prefix."""
        return self.decide(permission, context) is Effect.DENY

    def decide(self, permission: Permission, context: RequestContext = NO_CONTEXT) -> Effect | None:
        """Returns whether the statements allow a permission or deny it, None if they do neither;
        also for one on any resource which they do not allow.
        """
        action, resource = permission.action, permission.resource
        if self.depend_on_branch:
            context = context.on_branch(permission.changed_branch)
        rules = self._by_action.get(action)
        if rules is None:
            rules = self._compile_once(action)
        if resource == ANY:
            return Effect.ALLOW if _allow_any(rules, context) else None
        if not resource.startswith(RESOURCE_HEADS):
            allowed = allows(self._statements, permission, self._username, context)
            return Effect.ALLOW if allowed else None
        if not resource.startswith(CATALOG):
            return _decide(rules, resource, context)
        effects = [_decide(rules, name, context) for name in permission.names]
        if Effect.DENY in effects:
            return Effect.DENY
        return Effect.ALLOW if Effect.ALLOW in effects else None

    def naming(self, action: str, context: RequestContext) -> list[Statement]:
        """Returns the statements that name an action and apply in the context."""
        return [
            statement
            for statement in self._statements
            if matches_action(statement, action, self._username)
            and applies(statement.condition, context, denies=statement.effect is Effect.DENY)
        ]

    def _compile_once(self, action: str) -> tuple[_Rules, ...]:
        """Returns the rules on an action, compiled once for all threads that wait for them."""
        with self._compiling:
            rules = self._by_action.get(action)
            return self._compile(action) if rules is None else rules

    def _compile(self, action: str) -> tuple[_Rules, ...]:
        by_condition: dict[object, list[Statement]] = {}
        for statement in self._statements:
            if matches_action(statement, action, self._username):
                by_condition.setdefault(_frozen(statement.condition), []).append(statement)
        rules = tuple(
            _Rules(
                statements[0].condition,
                self._patterns(statements, Effect.ALLOW),
                self._patterns(statements, Effect.DENY),
            )
            for statements in by_condition.values()
        )
        if len(self._by_action) < _MAX_ACTIONS:
            self._by_action[action] = rules
        return rules

    def _patterns(self, statements: list[Statement], effect: Effect) -> ResourcePatterns:
        patterns = (
            pattern
            for statement in statements
            if statement.effect is effect
            for pattern in statement.resources
        )
        return ResourcePatterns(patterns, self._username)


def _take_long(statements: Iterable[Statement]) -> bool:
    names = values = characters = 0
    for each in statements:
        names += len(each.resources)
        characters += sum(map(len, each.actions)) + sum(map(len, each.resources))
        for fields in each.condition.values():
            for compared in fields.values():
                values += len(compared)
                characters += sum(map(len, compared))
        if max(names, values) > _BRIEF_NAMES or characters > _BRIEF_CHARACTERS:
            return True
    return False


def _decide(rules: tuple[_Rules, ...], name: str, context: RequestContext) -> Effect | None:
    """Returns what rules say of one name of a resource, or of all names with a prefix."""
    below = isinstance(name, AllBelow)
    allowed = False
    for condition, allowing, denying in rules:
        if denying.exist and (not condition or applies(condition, context, denies=True)):
            denied = denying.match_any_below if below else denying.match
            if denied(name):
                return Effect.DENY
        if allowed or not allowing.exist:
            continue
        if not condition or applies(condition, context, denies=False):
            match = allowing.match_all_below if below else allowing.match
            allowed = match(name)
    return Effect.ALLOW if allowed else None


def _allow_any(rules: tuple[_Rules, ...], context: RequestContext) -> bool:
    """Returns whether any resource is allowed and not all are denied."""
    allowed = False
    for condition, allowing, denying in rules:
        if denying.include_any and applies(condition, context, denies=True):
            return False
        allowed = allowed or (allowing.exist and applies(condition, context, denies=False))
    return allowed


def _may_name_branch(statement: Statement, username: str) -> bool:
    """Returns whether a statement may be about tables on some branches alone."""
    return any(split_pattern(each)[0] == CATALOG for each in statement.resources) and (
        _names_tables(statement, username)
    )


def _names_tables(statement: Statement, username: str) -> bool:
    return any(matches_action(statement, action, username) for action in TABLE_ACTIONS)


def _frozen(condition: Condition) -> object:
    return tuple(
        (operator, tuple(sorted(fields.items()))) for operator, fields in sorted(condition.items())
    )


def _allow_everything(statements: tuple[Statement, ...]) -> bool:
    if any(statement.effect is Effect.DENY for statement in statements):
        return False
    actions = {
        action
        for statement in statements
        if ANY in statement.resources and not statement.condition
        for action in statement.actions
    }
    services = {action.partition(":")[0] for action in Action if action not in TABLE_ACTIONS}
    return "*" in actions or all(f"{service}:*" in actions for service in services)
