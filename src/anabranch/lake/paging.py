"""All items of a listing, whose pages are fetched one after another as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

__all__ = ["PAGE_SIZE", "all_items", "all_pages"]

PAGE_SIZE = 1000

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)
PageT = TypeVar("PageT", bound="_End")


class _End(Protocol):
    @property
    def has_more(self) -> bool: ...

    @property
    def next_offset(self) -> str: ...


class _Page(_End, Protocol[Item_co]):
    @property
    def items(self) -> Sequence[Item_co]: ...


def all_pages(fetch: Callable[[str], PageT]) -> Iterator[PageT]:
    """Yields all pages, one after another as they are asked for; `fetch` returns the page after an
    offset.
    """
    page = fetch("")
    yield page
    while page.has_more:
        page = fetch(page.next_offset)
        yield page


def all_items(fetch: Callable[[str], _Page[Item]]) -> Iterator[Item]:
    """Yields the items of all pages; `fetch` returns the page after an offset."""
    for page in all_pages(fetch):
        yield from page.items
