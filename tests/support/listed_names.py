"""Names in the order of a store's listing, requested one at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

__all__ = ["first_after_of"]


def first_after_of(names: Iterable[str]) -> tuple[Callable[[str], str | None], list[str]]:
    """Returns a function that returns the first name after another, and a list of its arguments."""
    ordered = sorted(names, key=str.encode)
    keys = [name.encode() for name in ordered]
    requests: list[str] = []

    def first_after(name: str) -> str | None:
        requests.append(name)
        index = bisect_right(keys, name.encode())
        return ordered[index] if index < len(ordered) else None

    return first_after, requests
