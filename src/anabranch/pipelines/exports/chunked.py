"""Division of a stream into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["chunked"]

Item = TypeVar("Item")


def chunked(items: Iterable[Item], amount: int) -> Iterator[list[Item]]:
    """Yields the items in lists of `amount`; the last one may be shorter."""
    remaining = iter(items)
    while chunk := list(islice(remaining, amount)):
        yield chunk
