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

from anabranch.access.permissions import ANY, AllBelow, Permission

__all__ = ["ALLOW_ALL", "Effect", "Statement", "allows"]

_UNHEARD_OF = "\U0010fffd"
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
    by a denial of all. One on all below a prefix is given by one statement that allows whatever
    follows it, and taken by a denial of anything there.
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
    if isinstance(resource, AllBelow):
        names = touches_below if denies else names_all_below
        return any(names(pattern, resource, username) for pattern in statement.resources)
    return any(_matches_arn(pattern, resource, username) for pattern in statement.resources)


def names_all_below(pattern: str, prefix: str, username: str) -> bool:
    """Returns whether a pattern names every resource whose name begins so."""
    # what follows may be nothing, and may be anything at all: only `*` takes a character that no
    # pattern has, both alone and many times
    endings = ("", _UNHEARD_OF, _UNHEARD_OF * 1024)
    return all(_matches_arn(pattern, prefix + ending, username) for ending in endings)


def touches_below(pattern: str, prefix: str, username: str) -> bool:
    """Returns whether a pattern names any resource whose name begins so."""
    if pattern == ANY:
        return True
    wanted = pattern.split(":", _FIELDS - 1)
    given = prefix.split(":", _FIELDS - 1)
    if len(wanted) != _FIELDS or len(given) != _FIELDS:
        return False
    if [*wanted[:3], wanted[4]] != [*given[:3], given[4]]:
        return False
    # a star in a user's name would be one in the pattern, which only denies more
    return _has_common(wanted[5].replace("${user}", username), given[5])


def _has_common(pattern: str, prefix: str) -> bool:
    reached = {0}
    for character in prefix:
        after = set()
        for at in _skipping_stars(reached, pattern):
            if at < len(pattern) and pattern[at] == "*":
                after.add(at)
            elif at < len(pattern) and pattern[at] in ("?", character):
                after.add(at + 1)
        reached = after
        if not reached:
            return False
    return True


def _skipping_stars(places: set[int], pattern: str) -> set[int]:
    """Returns places in a pattern with those behind the stars that they stand before."""
    found = set(places)
    for place in places:
        at = place
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            found.add(at)
    return found


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
