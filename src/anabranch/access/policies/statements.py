"""Statements of policies: each allows or denies actions on resources.

`*` stands for any run of characters and `?` for one, in actions and in the last field of a
resource's name; the other fields are compared literally. `${user}` stands for the name of the
actor, taken literally. A denying statement overrides all allowing ones. `conditions.py`
evaluates the conditions.

The name of a table may end in `@` and a branch, which only patterns with an `@` of their own match:
what is allowed for tables called `*_old` is not allowed for others on a branch of that name. In
names of tables, `${user}` is encoded as they are, so it never begins a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

import msgspec

from anabranch.access.policies.conditions import NO_CONTEXT, RequestContext, applies
from anabranch.access.policies.permissions import ANY, CATALOG, AllBelow, Permission
from anabranch.patterns.wildcards import ONE, STAR, USER, matches_name, name_tokens

__all__ = [
    "ALLOW_ALL",
    "Effect",
    "Statement",
    "allows",
    "matches_action",
    "matches_all_below",
    "matches_any_below",
    "user_in_names",
]

_UNUSED_CHARACTER = "\U0010fffd"
_FIELDS = 6  # arn : lakefs : service : region : account : resource


class Effect(Enum):
    """Whether a statement allows or denies."""

    ALLOW = "allow"
    DENY = "deny"


class Statement(msgspec.Struct, frozen=True):
    """Allows or denies all `actions` on all `resources`, if the `condition` holds: for each
    operator, the fields of a request and the values they are compared with.
    """

    effect: Effect
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: Mapping[str, Mapping[str, tuple[str, ...]]] = msgspec.field(default_factory=dict)


ALLOW_ALL = Statement(Effect.ALLOW, ("*",), ("*",))
"""The statement of administrators."""


def allows(
    statements: Iterable[Statement],
    permission: Permission,
    username: str,
    context: RequestContext = NO_CONTEXT,
) -> bool:
    """Returns whether the statements grant the permission: one allows it and none denies it.

    A permission on ANY resource is granted by an allowance for any resource, and revoked only by a
    denial of all. A permission on all resources with a prefix is granted by one statement that
    allows all of them, and revoked by a denial of any of them.

    Statements whose conditions do not hold in the `context` are ignored; without a context, those
    that allow on a condition are ignored and those that deny on a condition apply.
    """
    context = context.on_branch(permission.changed_branch)
    allowed = False
    for statement in statements:
        denies = statement.effect is Effect.DENY
        if not matches_action(statement, permission.action, username):
            continue
        if not applies(statement.condition, context, denies=denies):
            continue
        if any(
            _matches_resource(statement, name, username, denies=denies) for name in permission.names
        ):
            if denies:
                return False
            allowed = True
    return allowed


def matches_action(statement: Statement, action: str, username: str) -> bool:
    """Returns whether a statement names an action."""
    return any(matches_name(pattern, action, username) for pattern in statement.actions)


def user_in_names(pattern: str, username: str) -> str:
    """Returns what `${user}` stands for in a pattern of resources."""
    return username.replace("@", "%40") if pattern.startswith(CATALOG) else username


def _matches_resource(statement: Statement, resource: str, username: str, *, denies: bool) -> bool:
    if resource == ANY:
        return ANY in statement.resources if denies else bool(statement.resources)
    if isinstance(resource, AllBelow):
        names = matches_any_below if denies else matches_all_below
        return any(names(pattern, resource, username) for pattern in statement.resources)
    return any(_matches_arn(pattern, resource, username) for pattern in statement.resources)


def matches_all_below(pattern: str, prefix: str, username: str) -> bool:
    """Returns whether a pattern matches all resources with a prefix."""
    # the prefix may be followed by nothing or by any text: only `*` matches a character that no
    # pattern contains, both alone and repeated
    endings = ("", _UNUSED_CHARACTER, _UNUSED_CHARACTER * 1024)
    return all(_matches_arn(pattern, prefix + ending, username) for ending in endings)


def matches_any_below(pattern: str, prefix: str, username: str) -> bool:
    """Returns whether a pattern matches any resource with a prefix."""
    if pattern == ANY:
        return True
    wanted = pattern.split(":", _FIELDS - 1)
    given = prefix.split(":", _FIELDS - 1)
    if len(wanted) != _FIELDS or len(given) != _FIELDS:
        return False
    if [*wanted[:3], wanted[4]] != [*given[:3], given[4]] or _only_given_branch(wanted, given):
        return False
    symbols = _symbols(wanted[5], user_in_names(prefix, username))
    return _matches_some_continuation(symbols, given[5])


class _Symbol(NamedTuple):
    """A character of a pattern, or a wildcard."""

    text: str
    is_wildcard: bool


def _symbols(pattern: str, username: str) -> list[_Symbol]:
    symbols = []
    for part in name_tokens(pattern):
        text = username if part == USER else part
        symbols += [_Symbol(character, part in {STAR, ONE}) for character in text]
    return symbols


def _matches_some_continuation(pattern: list[_Symbol], prefix: str) -> bool:
    for position, (text, is_wildcard) in enumerate(pattern):
        if position == len(prefix) or (is_wildcard and text == STAR):
            return True
        if not is_wildcard and text != prefix[position]:
            return False
    return len(prefix) == len(pattern)


def _matches_arn(pattern: str, resource: str, username: str) -> bool:
    if pattern == ANY:
        return True
    wanted = pattern.split(":", _FIELDS - 1)
    given = resource.split(":", _FIELDS - 1)
    if len(wanted) != _FIELDS or len(given) != _FIELDS:
        return False
    arn, partition, service, _, account, name = wanted
    same = (arn, partition, service, account) == (given[0], given[1], given[2], given[4])
    if not same or _only_given_branch(wanted, given):
        return False
    return matches_name(name, given[5], user_in_names(resource, username))


def _only_given_branch(wanted: list[str], given: list[str]) -> bool:
    """Returns whether a table's name has a branch and the pattern that it is compared with none."""
    return given[2] == "catalog" and "@" in given[5] and "@" not in wanted[5]
