"""Which paths patterns of a workspace match, and which of them its keys may write."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.patterns.path_patterns import path_pattern

__all__ = ["any_matches", "may_write"]

_RESERVED = "_lakefs"
"""The paths of action files and merge rules begin so."""


def may_write(writable: Iterable[str], path: str, *, is_prefix: bool = False) -> bool:
    """Returns whether keys with patterns of writable paths may write a path, or all paths with a
    prefix.
    """
    return not _is_reserved(path, is_prefix=is_prefix) and any_matches(
        writable, path, is_prefix=is_prefix
    )


def any_matches(patterns: Iterable[str], path: str, *, is_prefix: bool) -> bool:
    """Returns whether a path matches a pattern, or all paths with a prefix do."""
    for text in patterns:
        pattern = path_pattern(text)
        if is_prefix:
            if pattern.text == f"{pattern.literal}**" and path.startswith(pattern.literal):
                return True
        elif pattern.matches(path):
            return True
    return False


def _is_reserved(path: str, *, is_prefix: bool) -> bool:
    """Returns whether a path may be one of action files or merge rules, or has a segment that
    programs which copy objects into folders resolve.
    """
    if path.startswith(_RESERVED) or (is_prefix and _RESERVED.startswith(path)):
        return True
    return not {".", ".."}.isdisjoint(path.split("/"))
