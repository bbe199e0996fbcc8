r"""Patterns of names, in the form that lakeFS takes (gobwas/glob, with no separators).

*        any text, also none        [abc]  one of these         {a,b*}  either of these patterns
?        any one character          [a-z]  one of this range    \*       the character itself
                                    [!…]   any other one

A text is matched by the set of places that have been reached in it, so the work is at most the
pattern's length times the text's, whatever the pattern is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NoReturn, TypeAlias

from anabranch.errors import Invalid

__all__ = ["Glob", "glob"]

Places: TypeAlias = frozenset[int]
Term: TypeAlias = Callable[[str, Places], Places]
"""Returns the places in a text that are reached from those places."""

_DEEPEST = 16
_SPECIAL = frozenset("?[]{}\\")
"""What a pattern of `*` and plain characters does not hold."""


class Glob:
    """A pattern. Raises Invalid for a text that is none."""

    def __init__(self, pattern: str) -> None:
        self._terms = _Parser(pattern).whole()
        self._runs = None if _SPECIAL.intersection(pattern) else pattern.split("*")

    def matches(self, text: str) -> bool:
        """Returns whether the pattern matches the whole text."""
        if self._runs is not None:
            return _has_runs(self._runs, text)
        return len(text) in _follow(self._terms, text, frozenset({0}))


@lru_cache(1024)
def glob(pattern: str) -> Glob:
    """Returns a pattern, made once. Raises Invalid."""
    return Glob(pattern)


def _has_runs(runs: Sequence[str], text: str) -> bool:
    """Returns whether a text is these runs of characters with any text between them: each is found
    at its first place behind the one before, which leaves the most for those that follow.
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


def _follow(terms: Sequence[Term], text: str, places: Places) -> Places:
    for term in terms:
        if not places:
            break
        places = term(text, places)
    return places


def _anything(text: str, places: Places) -> Places:
    return frozenset(range(min(places), len(text) + 1))


def _one(fits: Callable[[str], bool]) -> Term:
    def term(text: str, places: Places) -> Places:
        return frozenset(at + 1 for at in places if at < len(text) and fits(text[at]))

    return term


def _either(choices: Sequence[Sequence[Term]]) -> Term:
    def term(text: str, places: Places) -> Places:
        return frozenset().union(*(_follow(terms, text, places) for terms in choices))

    return term


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def whole(self) -> list[Term]:
        terms = self._sequence("")
        if self._at < len(self._pattern):
            self._refuse("cannot be read")
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
            return _anything
        if character == "?":
            return _one(lambda _: True)
        if character == "[":
            return self._class()
        if character == "{":
            return self._choice()
        wanted = self._next() if character == "\\" else character
        return _one(wanted.__eq__)

    def _choice(self) -> Term:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse("has too many braces in braces")
        choices: list[list[Term]] = []
        while True:
            choices.append(self._sequence(",}"))
            if self._next() == "}":
                self._depth -= 1
                return _either(choices)

    def _class(self) -> Term:
        """Returns a class: one range, or a list, in which `-` is a character like others."""
        other = self._pattern.startswith("!", self._at)
        self._at += other
        if self._pattern[self._at + 1 : self._at + 2] == "-":
            low, _, high = self._next(), self._next(), self._next()
            if self._next() != "]" or low > high:
                self._refuse("has a range that is none")
            return _one(lambda character: (low <= character <= high) is not other)
        listed = ""
        while (character := self._next()) != "]":
            listed += self._next() if character == "\\" else character
        if not listed:
            self._refuse("has an empty class")
        return _one(lambda character: (character in listed) is not other)

    def _next(self) -> str:
        if self._at == len(self._pattern):
            self._refuse("ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _refuse(self, reason: str) -> NoReturn:
        raise Invalid(
            f"the pattern {self._pattern!r} {reason}: invalid value",
            kind="invalid_pattern",
            hint="* and ? stand for any text and any character; [abc], [a-z], [!a], {this,that}.",
        )
