"""Pages: so many of a stream's items at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["pages"]

Item = TypeVar("Item")


def pages(items: Iterable[Item], amount: int) -> Iterator[list[Item]]:
    """Yields the items in lists of `amount`; the last one may be shorter."""
    coming = iter(items)
    while page := list(islice(coming, amount)):
        yield page
