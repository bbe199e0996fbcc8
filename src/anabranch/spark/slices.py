"""Slices: a store's listing, cut so that tasks list it side by side.

Names in a bucket are a tree of letters. It is walked from its root, as far as the names there are
alike without a letter of their own, then by the letters that follow, each found by one look behind
the one before. What begins with such a letter is a slice, or is walked in its turn, the widest
first. Where a slice ends the next begins, so nothing is left out, whatever is stored meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["FirstAfter", "Slice", "cut_names"]

FirstAfter = Callable[[str], str | None]
"""Returns the first name after another in a store's order, None if there is none."""

_LOOKS = 24
"""How often the store is asked for each slice that is wanted, at most about."""

_LONGEST = 1_024
"""Names have not more letters."""

_LAST, _SURROGATES, _BEHIND_SURROGATES = "\U0010ffff", "\ud800", "\ue000"


class Slice(NamedTuple):
    """The names after `after`, up to `last` and that included; an empty `last` is the end."""

    after: str
    last: str


def cut_names(first_after: FirstAfter, slices: int) -> list[Slice]:
    """Returns about so many slices that together are all names; more where letters are many, and
    fewer where names are few or alike in all but their ends.
    """
    asked = 0

    def look(name: str) -> str | None:
        nonlocal asked
        asked += 1
        return first_after(name)

    parts = deque([""])
    whole: list[str] = []  # what is not worth cutting
    while parts and len(parts) + len(whole) < slices and asked < _LOOKS * slices:
        part = parts.popleft()
        children = list(_children(look, part))
        if len(children) == 1:
            parts.appendleft(children[0])
        elif children:
            parts += children
        else:
            whole.append(part)
    borders = sorted([*parts, *whole], key=str.encode)[1:]
    return [Slice(*ends) for ends in zip(["", *borders], [*borders, ""], strict=True)]


def _children(look: FirstAfter, part: str) -> Iterator[str]:
    """Yields the shortest beginnings that tell apart the names which begin as `part` does."""
    first = look(part)
    if first is None or not first.startswith(part):
        return
    # all names begin with `first[:alike]`, and not all with a letter more
    alike, differing = len(part), len(first) + 1
    while differing - alike > 1:
        middle = (alike + differing) // 2
        other = look(_behind(first[:middle]))
        if other is not None and other.startswith(part):
            differing = middle
        else:
            alike = middle
    stem = first[:alike]
    found: str | None = first if len(first) > alike else look(first)
    while found is not None and found.startswith(stem):
        child = found[: alike + 1]
        yield child
        found = look(_behind(child))


def _behind(start: str) -> str:
    """Returns the least name after all that begin so; the last of all where there is none."""
    start = start.rstrip(_LAST)
    if not start:
        return _LAST * _LONGEST
    letter = chr(ord(start[-1]) + 1)
    return start[:-1] + (_BEHIND_SURROGATES if letter == _SURROGATES else letter)
