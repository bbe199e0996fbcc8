"""A slow evaluator of policies, straight from what their documentation says, to compare with."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.access.policies.statements import Effect, Statement

__all__ = ["literally_allows"]


def literally_allows(
    statements: Iterable[Statement], action: str, resource: str, username: str
) -> bool:
    """Returns whether one statement allows the action on the resource and none denies it. All
    conditions count as unreadable: they ignore what allows, and not what denies.
    """
    effects = [
        statement.effect
        for statement in statements
        if not (statement.condition and statement.effect is Effect.ALLOW)
        and any(fits(tokens(each, username), action) for each in statement.actions)
        and any(names(each, resource, username) for each in statement.resources)
    ]
    return Effect.ALLOW in effects and Effect.DENY not in effects


def names(pattern: str, resource: str, username: str) -> bool:
    """Whether a pattern of a resource names it: the region is ignored, wildcards are for the name
    alone.
    """
    if pattern == "*":
        return True
    wanted, given = pattern.split(":"), resource.split(":")
    if len(wanted) < 6 or len(given) < 6:
        return False
    same = all(wanted[field] == given[field] for field in (0, 1, 2, 4))
    name, meant = ":".join(given[5:]), ":".join(wanted[5:])
    if given[2] == "catalog":  # a branch is meant by an `@`, which the names of users have encoded
        same = same and ("@" in meant or "@" not in name)
        username = username.replace("@", "%40")
    return same and fits(tokens(meant, username), name)


def tokens(pattern: str, username: str) -> list[str]:
    """A pattern as a list of `*`, `?` and quoted characters."""
    listed: list[str] = []
    while pattern:
        if pattern.startswith("${user}"):
            listed += [f"'{character}" for character in username]
            pattern = pattern[len("${user}") :]
        else:
            listed.append(pattern[0] if pattern[0] in "*?" else f"'{pattern[0]}")
            pattern = pattern[1:]
    return listed


def fits(pattern: list[str], text: str) -> bool:
    """Whether a text is one of those that a pattern stands for."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(fits(pattern[1:], text[place:]) for place in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", f"'{text[0]}") and fits(pattern[1:], text[1:])
