"""Pages on the wire: the parameters that ask for one and the struct that describes it."""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.model.page import DEFAULT_AMOUNT, MAX_AMOUNT, Page
from anabranch.rest.parameters import Amount, InRepository

__all__ = ["PageOf", "PageOfRepository", "Pagination", "amount_of", "pagination_of"]


class Pagination(msgspec.Struct, frozen=True):
    """lakeFS's description of a page. `results` is how many items it has."""

    has_more: bool
    max_per_page: int
    next_offset: str
    results: int


class PageOf(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that ask for a page."""

    prefix: str = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class PageOfRepository(InRepository, frozen=True, kw_only=True):
    """The parameters that ask for a page of something in a repository."""

    prefix: str = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


def amount_of(amount: int) -> int:
    """Returns how many items a page holds for the amount asked for: 0 and -1 mean the default."""
    return min(amount, MAX_AMOUNT) if amount > 0 else DEFAULT_AMOUNT


def pagination_of(page: Page[Any], *, max_per_page: int = MAX_AMOUNT) -> Pagination:
    """Returns the description of a page."""
    return Pagination(
        has_more=page.has_more,
        max_per_page=max_per_page,
        next_offset=page.next_offset if page.has_more else "",
        results=len(page.items),
    )
