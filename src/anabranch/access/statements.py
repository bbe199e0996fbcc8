"""Statements of policies: each allows or denies actions on resources.

`*` stands for any run of characters and `?` for one, in actions and in the last field of a
resource's name; the other fields are compared as they are. `${user}` stands for the name of who
asks, taken literally. A statement denying beats every statement allowing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

import msgspec

from anabranch.access.permissions import ANY, Permission

__all__ = ["ALLOW_ALL", "Effect", "Statement", "allows"]

_FIELDS = 6  # arn : lakefs : service : region : account : resource
_TOKENS = re.compile(r"(\$\{user\}|[*?])")


class Effect(Enum):
    """What a statement does to what it names."""

    ALLOW = "allow"
    DENY = "deny"


class Statement(msgspec.Struct, frozen=True):
    """Allows or denies every one of `actions` on every one of `resources`."""

    effect: Effect
    actions: tuple[str, ...]
    resources: tuple[str, ...]


ALLOW_ALL = Statement(Effect.ALLOW, ("*",), ("*",))
"""What an administrator has."""


def allows(statements: Iterable[Statement], permission: Permission, username: str) -> bool:
    """Returns whether the statements give the permission: one allows it and none denies it.

    A permission on ANY resource is given by an allowance for whichever resource, and taken only
    by a denial of all.
    """
    allowed = False
    for statement in statements:
        denies = statement.effect is Effect.DENY
        if not _names_action(statement, permission.action, username):
            continue
        if _names_resource(statement, permission.resource, username, denies=denies):
            if denies:
                return False
            allowed = True
    return allowed


def _names_action(statement: Statement, action: str, username: str) -> bool:
    return any(_matches(pattern, action, username) for pattern in statement.actions)


def _names_resource(statement: Statement, resource: str, username: str, *, denies: bool) -> bool:
    if resource == ANY:
        return not denies or ANY in statement.resources
    return any(_matches_arn(pattern, resource, username) for pattern in statement.resources)


def _matches_arn(pattern: str, resource: str, username: str) -> bool:
    if pattern == ANY:
        return True
    wanted = pattern.split(":", _FIELDS - 1)
    given = resource.split(":", _FIELDS - 1)
    if len(wanted) != _FIELDS or len(given) != _FIELDS:
        return False
    arn, partition, service, _, account, name = wanted
    same = (arn, partition, service, account) == (given[0], given[1], given[2], given[4])
    return same and _matches(name, given[5], username)


def _matches(pattern: str, text: str, username: str) -> bool:
    if pattern == ANY:
        return True
    return _compiled(pattern, username).fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str, username: str) -> re.Pattern[str]:
    # Each run after a `*` is found at its first place and kept there: the first place leaves the
    # most for what follows, so giving it back never helps, and no pattern takes long.
    runs = [""]
    for part in _TOKENS.split(pattern):
        if part == "*":
            runs.append("")
        elif part == "?":
            runs[-1] += "."
        else:
            runs[-1] += re.escape(username if part == "${user}" else part)
    first, *others = runs
    if not others:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{run})" for run in others[:-1])
    return re.compile(f"{first}{middle}.*{others[-1]}", re.DOTALL)
