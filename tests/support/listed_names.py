"""Names as a store lists them, asked for one at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

__all__ = ["asked_of"]


def asked_of(names: Iterable[str]) -> tuple[Callable[[str], str | None], list[str]]:
    """Returns what tells the first name after another, and what it was asked for so far."""
    there = sorted(names, key=str.encode)
    keys = [name.encode() for name in there]
    asked: list[str] = []

    def first_after(name: str) -> str | None:
        asked.append(name)
        place = bisect_right(keys, name.encode())
        return there[place] if place < len(there) else None

    return first_after, asked
