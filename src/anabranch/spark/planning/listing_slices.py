"""Slices of a store's listing, which tasks list concurrently.

The names of a bucket form a trie. It is walked from the root: first along the common prefix of all
names, then through the next letters, each found by one listing request after the one before. A
prefix with such a letter becomes a slice or is walked further, the widest first. Each slice ends
where the next begins, so nothing is left out, whatever is stored meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["FirstAfter", "Slice", "cut_names"]

FirstAfter = Callable[[str], str | None]
"""Returns the first name after another in the store's order, None without one."""

_LOOKS = 24
"""The approximate limit of requests to the store for each slice."""

_LONGEST = 1_024
"""The maximum length of a name."""

_LAST, _SURROGATES, _BEHIND_SURROGATES = "\U0010ffff", "\ud800", "\ue000"


class Slice(NamedTuple):
    """The names after `after`, up to and including `last`; an empty `last` is the end."""

    after: str
    last: str


def cut_names(first_after: FirstAfter, slices: int) -> list[Slice]:
    """Returns about this many slices that together contain all names; more if letters are many, and
    fewer if names are few or differ only in their ends.
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
    """Yields the shortest prefixes that distinguish the names that begin with `part`."""
    first = look(part)
    if first is None or not first.startswith(part):
        return
    # all names begin with `first[:alike]`, and differ in the next letter
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
    """Returns the least name after all names with a prefix; the greatest name without one."""
    start = start.rstrip(_LAST)
    if not start:
        return _LAST * _LONGEST
    letter = chr(ord(start[-1]) + 1)
    return start[:-1] + (_BEHIND_SURROGATES if letter == _SURROGATES else letter)
