r"""Patterns of branch names in action files, in the syntax of Go's `path.Match`, as in lakeFS.

*        any text without `/`       [abc]  one of these         \*  the character itself
?        one character but `/`      [a-z]  one of this range    [^…]  any other one but these

Matching tracks the set of positions reached in the name, so its cost is at most the length of the
pattern times that of the name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from anabranch.errors import Invalid

__all__ = ["BranchPattern", "branch_pattern"]

_MAX_LENGTH = 1024
_Fits = Callable[[str], bool]


class BranchPattern:
    """A compiled pattern. Raises Invalid for a malformed one."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._terms: list[_Fits | None] = []
        """What fits at each place: one character, or for None any text without `/`."""
        if len(pattern) > _MAX_LENGTH:
            raise self._syntax_error(f"is longer than {_MAX_LENGTH} characters")
        at = 0
        while at < len(pattern):
            term, at = self._term(at)
            self._terms.append(term)

    def matches(self, name: str) -> bool:
        """Returns whether the pattern matches a whole name."""
        reached = {0}
        for fits in self._terms:
            if fits is None:
                ends = (_run_end(name, at) for at in reached)
                reached = {
                    at
                    for start, end in zip(reached, ends, strict=True)
                    for at in range(start, end + 1)
                }
            else:
                reached = {at + 1 for at in reached if at < len(name) and fits(name[at])}
        return len(name) in reached

    def _term(self, at: int) -> tuple[_Fits | None, int]:
        character = self._pattern[at]
        if character == "*":
            return None, at + 1
        if character == "?":
            return (lambda found: found != "/"), at + 1
        if character == "[":
            return self._class(at + 1)
        literal, at = self._parse_escape(at) if character == "\\" else (character, at + 1)
        return literal.__eq__, at

    def _class(self, at: int) -> tuple[_Fits, int]:
        negated = self._pattern.startswith("^", at)
        at += negated
        ranges: list[tuple[str, str]] = []
        while not (ranges and self._pattern.startswith("]", at)):
            low, at = self._member(at)
            high = low
            if self._pattern.startswith("-", at):
                high, at = self._member(at + 1)
            ranges.append((low, high))
        return (
            lambda found: any(low <= found <= high for low, high in ranges) is not negated
        ), at + 1

    def _member(self, at: int) -> tuple[str, int]:
        character = self._pattern[at : at + 1]
        if character in {"", "-", "]"}:
            raise self._syntax_error("has an unfinished class")
        return self._parse_escape(at) if character == "\\" else (character, at + 1)

    def _parse_escape(self, at: int) -> tuple[str, int]:
        if at + 1 == len(self._pattern):
            raise self._syntax_error("ends with a backslash")
        return self._pattern[at + 1], at + 2

    def _syntax_error(self, reason: str) -> Invalid:
        return Invalid(
            f"the pattern {self._pattern[:100]!r} {reason}",
            kind="invalid_pattern",
            hint="* and ? stand for any text and any character but /; [abc], [a-z], [^a].",
        )


def _run_end(name: str, start: int) -> int:
    """Returns where the text without `/` ends that begins at a position."""
    end = name.find("/", start)
    return len(name) if end < 0 else end


@lru_cache(1024)
def branch_pattern(pattern: str) -> BranchPattern:
    """Returns the compiled pattern, from a cache. Raises Invalid."""
    return BranchPattern(pattern)
