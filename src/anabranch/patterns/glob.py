r"""Glob patterns for names, in lakeFS's syntax (gobwas/glob, without separators).

*        any text, also empty       [abc]  one of these         {a,b*}  either of these patterns
?        any one character          [a-z]  one of this range    \*       the character itself
                                    [!…]   any other one

Matching tracks the set of positions reached in the text, so the cost is at most the pattern's
length times the text's, for any pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import NoReturn, TypeAlias

from anabranch.brevity import about_to_take_long
from anabranch.errors import Invalid

__all__ = ["MAX_PATTERN_CHARACTERS", "Glob", "about_to_match", "glob"]

Positions: TypeAlias = frozenset[int]
Term: TypeAlias = Callable[[str, Positions], Positions]
"""Returns the positions in a text that are reached from the given positions."""

MAX_PATTERN_CHARACTERS = 2048
"""The most characters of a pattern, those of the longest path with each one escaped: a compiled
pattern takes some hundred bytes for each.
"""

_MAX_DEPTH = 16
_CACHED = 256
_COMPILED_AS = 50
_BRIEF_STEPS = 500_000
"""Characters of patterns times those of texts: so many take up to 8 ms."""
_SPECIAL = frozenset("?[]{}\\")
"""The special characters other than `*`."""


class Glob:
    """A compiled pattern. Raises Invalid for a malformed one."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise Invalid(
                f"a pattern has at most {MAX_PATTERN_CHARACTERS:,} characters, this one has "
                f"{len(pattern):,}: invalid value",
                kind="invalid_pattern",
            )
        self._terms = _Parser(pattern).parse()
        self._runs = None if _SPECIAL.intersection(pattern) else pattern.split("*")

    def matches(self, text: str) -> bool:
        """Returns whether the pattern matches the parse text."""
        if self._runs is not None:
            return _has_runs(self._runs, text)
        return len(text) in _follow(self._terms, text, frozenset({0}))


@lru_cache(_CACHED)
def glob(pattern: str) -> Glob:
    """Returns the compiled pattern, from a cache. Raises Invalid."""
    return Glob(pattern)


def about_to_match(patterns: Collection[str], text: str) -> None:
    """Must be called before many patterns are matched: that may take long."""
    characters = sum(map(len, patterns))
    # patterns that are not cached are compiled, which takes about as long as matching a short text
    if characters * (len(text) + _COMPILED_AS) > _BRIEF_STEPS:
        about_to_take_long()


def _has_runs(runs: Sequence[str], text: str) -> bool:
    """Returns whether a text consists of these runs with any text between them. Each run is matched
    at its first position after the previous one, which leaves the most text for the next.
    """
    first, last = runs[0], runs[-1]
    if len(runs) == 1:
        return text == first
    end = len(text) - len(last)
    if len(first) > end or not (text.startswith(first) and text.endswith(last)):
        return False
    at = len(first)
    for run in runs[1:-1]:
        at = text.find(run, at, end)
        if at < 0:
            return False
        at += len(run)
    return True


def _follow(terms: Sequence[Term], text: str, positions: Positions) -> Positions:
    for term in terms:
        if not positions:
            break
        positions = term(text, positions)
    return positions


def _any_text(text: str, positions: Positions) -> Positions:
    return frozenset(range(min(positions), len(text) + 1))


def _one(fits: Callable[[str], bool]) -> Term:
    def term(text: str, positions: Positions) -> Positions:
        return frozenset(at + 1 for at in positions if at < len(text) and fits(text[at]))

    return term


def _either(choices: Sequence[Sequence[Term]]) -> Term:
    def term(text: str, positions: Positions) -> Positions:
        return frozenset().union(*(_follow(terms, text, positions) for terms in choices))

    return term


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def parse(self) -> list[Term]:
        terms = self._sequence("")
        if self._at < len(self._pattern):
            self._fail("cannot be read")
        return terms

    def _sequence(self, ends: str) -> list[Term]:
        """Returns the terms up to one of the characters `ends`, or to the end."""
        terms: list[Term] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in ends:
            terms.append(self._term())
        return terms

    def _term(self) -> Term:
        character = self._next()
        if character == "*":
            return _any_text
        if character == "?":
            return _one(lambda _: True)
        if character == "[":
            return self._class()
        if character == "{":
            return self._choice()
        literal = self._next() if character == "\\" else character
        return _one(literal.__eq__)

    def _choice(self) -> Term:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._fail("has too many nested braces")
        choices: list[list[Term]] = []
        while True:
            choices.append(self._sequence(",}"))
            if self._next() == "}":
                self._depth -= 1
                return _either(choices)

    def _class(self) -> Term:
        """Returns a character class: one range, or a list, in which `-` is not special."""
        negated = self._pattern.startswith("!", self._at)
        self._at += negated
        if self._pattern[self._at + 1 : self._at + 2] == "-":
            low, _, high = self._next(), self._next(), self._next()
            if self._next() != "]" or low > high:
                self._fail("has an invalid range")
            return _one(lambda character: (low <= character <= high) is not negated)
        members = ""
        while (character := self._next()) != "]":
            members += self._next() if character == "\\" else character
        if not members:
            self._fail("has an empty class")
        return _one(lambda character: (character in members) is not negated)

    def _next(self) -> str:
        if self._at == len(self._pattern):
            self._fail("ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _fail(self, reason: str) -> NoReturn:
        raise Invalid(
            f"the pattern {self._pattern!r} {reason}: invalid value",
            kind="invalid_pattern",
            hint="* and ? stand for any text and any character; [abc], [a-z], [!a], {this,that}.",
        )
