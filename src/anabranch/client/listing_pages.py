"""Listings of the REST interface, fetched page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["PAGE_SIZE", "Pages"]

PAGE_SIZE = 1000
"""The most results that a server returns at once."""


class Pages:
    """The results of a listing, `amount` of them at most. A page is fetched when its first result
    is read. `next_offset` is the position after the last result, empty at the end of the listing.
    """

    def __init__(self, fetch: Callable[..., Any], amount: int | None = None) -> None:
        self.next_offset = ""
        self._fetch = fetch
        self._amount = amount

    def __iter__(self) -> Iterator[dict[str, Any]]:
        remaining = self._amount
        position: dict[str, Any] = {}
        while remaining is None or remaining > 0:
            amount = PAGE_SIZE if remaining is None else min(remaining, PAGE_SIZE)
            page = self._fetch(amount=amount, **position)
            results = page["results"]
            pagination = page["pagination"]
            yield from results
            self.next_offset = pagination["next_offset"] if pagination["has_more"] else ""
            if not self.next_offset:
                return
            position = {"after": self.next_offset}
            remaining = None if remaining is None else remaining - len(results)
