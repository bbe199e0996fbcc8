"""Patterns of resources, prepared so that a resource is compared with all of them at once.

Names without wildcards are one set, those whose only wildcard is a `*` at the end one tuple of
prefixes, and all others one regular expression. Results are those of `statements.allows`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from anabranch.access.policies.permissions import ANY, CATALOG
from anabranch.access.policies.statements import (
    matches_all_below,
    matches_any_below,
    user_in_names,
)
from anabranch.patterns.wildcards import ONE, STAR, USER, name_expression, name_tokens

__all__ = ["RESOURCE_HEADS", "ResourcePatterns", "literal_prefix", "split_pattern"]

RESOURCE_HEADS = ("arn:lakefs:fs:::", "arn:lakefs:auth:::", CATALOG)
"""What all names of resources begin with; patterns of other services match none."""

_FIELDS = 6  # as in statements.py
_NO_BRANCH = "(?!.*@)"
"""Before the expression of a pattern of tables that names no branch; see statements.py."""


class ResourcePatterns:
    """Patterns in which `${user}` stands for one user."""

    __slots__ = ("_any", "_exact", "_expression", "_pairs", "_prefixes", "_username", "exist")

    def __init__(self, patterns: Iterable[str], username: str) -> None:
        patterns = list(patterns)
        self.exist = bool(patterns)
        self._username = username
        self._any = ANY in patterns
        exact, prefixes, expressions, self._pairs = set(), [], [], list[tuple[str, str]]()
        for pattern in patterns:
            head, name = split_pattern(pattern)
            if not head:
                continue
            user = user_in_names(head, username)
            literal, wildcards = literal_prefix(name, user)
            if not wildcards:
                exact.add(head + literal)
            elif wildcards == "*" and name.endswith("*"):
                prefixes.append(head + literal)
            else:
                limit = _NO_BRANCH if head == CATALOG and "@" not in name else ""
                expressions.append(re.escape(head) + limit + name_expression(name, user))
                self._pairs.append((pattern, head + literal))
        self._exact = frozenset(exact)
        self._prefixes = tuple(prefixes)
        self._expression = (
            re.compile("|".join(f"(?:{each})" for each in expressions), re.DOTALL)
            if expressions
            else None
        )

    @property
    def include_any(self) -> bool:
        """Whether `*` is one of the patterns."""
        return self._any

    def match(self, resource: str) -> bool:
        """Returns whether any pattern matches a resource."""
        if self._any or resource in self._exact or resource.startswith(self._prefixes):
            return True
        return self._expression is not None and self._expression.fullmatch(resource) is not None

    def match_all_below(self, prefix: str) -> bool:
        """Returns whether one pattern matches all resources with a prefix."""
        if self._any or prefix.startswith(self._prefixes):
            return True
        # a pattern that matches all of them also matches the prefix itself
        if self._expression is None or self._expression.fullmatch(prefix) is None:
            return False
        return any(
            prefix.startswith(literal) and matches_all_below(pattern, prefix, self._username)
            for pattern, literal in self._pairs
        )

    def match_any_below(self, prefix: str) -> bool:
        """Returns whether any pattern matches a resource with a prefix."""
        if self._any or prefix.startswith(self._prefixes):
            return True
        return (
            any(each.startswith(prefix) for each in self._exact)
            or any(each.startswith(prefix) for each in self._prefixes)
            or any(
                (prefix.startswith(literal) or literal.startswith(prefix))
                and matches_any_below(pattern, prefix, self._username)
                for pattern, literal in self._pairs
            )
        )


def split_pattern(pattern: str) -> tuple[str, str]:
    """Returns the beginning of a pattern's resources and the pattern of their names; empty for a
    pattern that matches no resource but as a whole.
    """
    fields = pattern.split(":", _FIELDS - 1)
    if len(fields) != _FIELDS:
        return "", ""
    arn, partition, service, _, account, name = fields
    head = f"{arn}:{partition}:{service}::{account}:"
    return (head, name) if head in RESOURCE_HEADS else ("", "")


def literal_prefix(name: str, username: str) -> tuple[str, str]:
    """Returns the part of a pattern before its first wildcard, and all of its wildcards."""
    literal, wildcards = "", ""
    for part in name_tokens(name):
        if part in {STAR, ONE}:
            wildcards += part
        elif not wildcards:
            literal += username if part == USER else part
    return literal, wildcards
