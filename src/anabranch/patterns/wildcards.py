"""Patterns in policies: `*` stands for any run of characters, `?` for one, and `${user}` for the
name of a user, taken literally.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["ONE", "STAR", "USER", "matches_name", "name_expression", "name_pattern", "name_tokens"]

STAR, ONE, USER = "*", "?", "${user}"
"""The parts of a pattern that are no literal text."""

_TOKENS = re.compile(r"(\$\{user\}|[*?])")


def matches_name(pattern: str, text: str, username: str) -> bool:
    """Returns whether a pattern matches a whole text."""
    return pattern == STAR or name_pattern(pattern, username).fullmatch(text) is not None


@lru_cache(maxsize=4096)
def name_pattern(pattern: str, username: str = USER) -> re.Pattern[str]:
    """Returns the compiled regular expression of a pattern; `${user}` is literal without a user."""
    return re.compile(name_expression(pattern, username), re.DOTALL)


def name_tokens(pattern: str) -> list[str]:
    """Returns the parts of a pattern: `*`, `?`, `${user}` and texts."""
    return [part for part in _TOKENS.split(pattern) if part]


def name_expression(pattern: str, username: str) -> str:
    """Returns a regular expression that matches what a pattern does; needs re.DOTALL."""
    # Each run after a `*` matches at its first position, without backtracking: the first position
    # leaves the most text for the rest, so that later ones never help and no pattern is slow.
    runs = [""]
    for part in name_tokens(pattern):
        if part == STAR:
            runs.append("")
        elif part == ONE:
            runs[-1] += "."
        else:
            runs[-1] += re.escape(username if part == USER else part)
    first, *others = runs
    if not others:
        return first
    middle = "".join(f"(?>.*?{run})" for run in others[:-1])
    return f"{first}{middle}.*{others[-1]}"
