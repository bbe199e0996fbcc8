"""Patterns of paths: `*` is any number of characters except `/`, `**` any number of characters,
`?` one character except `/`. As in git, `**/` also stands for no folder at all.

A path is matched in one pass, with the set of all places in the pattern that its beginning can
reach: however many wildcards there are, the time is at most the product of both lengths. Regular
expressions could take as long as they like for patterns that users send.
"""

from __future__ import annotations

import re
from functools import lru_cache

from anabranch.errors import Invalid
from anabranch.patterns.glob import MAX_PATTERN_CHARACTERS

__all__ = ["PathPattern", "path_pattern"]

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]", re.DOTALL)


class PathPattern:
    """A pattern, which also matches the path that is spelled like it. All paths that it matches
    begin with `literal`. Raises Invalid for one that is too long.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_PATTERN_CHARACTERS:
            raise Invalid(
                f"a pattern of paths has at most {MAX_PATTERN_CHARACTERS:,} characters, this one "
                f"has {len(text):,}",
                kind="invalid_pattern",
            )
        self.text = text
        self._tokens: list[str] = []
        for token in _TOKEN.findall(text):
            if token == "**/":  # noqa: S105  nothing, or anything up to a slash
                self._tokens.append("folders?")
            self._tokens.append(token)
        self.literal = text[: min((text + "*").find("*"), (text + "?").find("?"))]
        self._start = self._reach({0})

    def matches(self, path: str) -> bool:
        """Returns whether a path matches."""
        if path == self.text:
            return True
        if not path.startswith(self.literal):
            return False
        places = self._start
        for letter in path:
            places = self._reach(self._step(places, letter))
            if not places:
                return False
        return len(self._tokens) in places

    def _step(self, places: set[int], letter: str) -> set[int]:
        """Returns the places after a letter, given those before it."""
        after = set()
        for place in places:
            token = self._tokens[place] if place < len(self._tokens) else ""
            is_literal = len(token) == 1 and token not in ("*", "?")
            if (is_literal and token == letter) or (token == "?" and letter != "/"):  # noqa: S105
                after.add(place + 1)
            elif token == "**" or (token == "*" and letter != "/"):  # noqa: S105
                after.add(place)
            elif token == "**/":  # noqa: S105
                after.add(place)
                if letter == "/":
                    after.add(place + 1)
        return after

    def _reach(self, places: set[int]) -> set[int]:
        """Returns the places and those that can be reached from them without a letter."""
        found, new = set(places), list(places)
        while new:
            place = new.pop()
            token = self._tokens[place] if place < len(self._tokens) else ""
            nexts = {"*": [place + 1], "**": [place + 1], "folders?": [place + 1, place + 2]}
            for each in nexts.get(token, ()):
                if each not in found:
                    found.add(each)
                    new.append(each)
        return found


@lru_cache(maxsize=256)
def path_pattern(text: str) -> PathPattern:
    """Returns the compiled pattern. Raises Invalid."""
    return PathPattern(text)
