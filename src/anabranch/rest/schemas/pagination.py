"""Pagination: parameters and schema of pages."""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.brevity import about_to_take_long
from anabranch.model.page import DEFAULT_AMOUNT, MAX_AMOUNT, Page
from anabranch.rest.protocol.parameters import Amount, InRepository

__all__ = [
    "PageOf",
    "PageOfRepository",
    "Pagination",
    "brief_page_amount",
    "page_amount",
    "to_pagination",
]


class Pagination(msgspec.Struct, frozen=True):
    """lakeFS's description of a page. `results` is the number of its items."""

    has_more: bool
    max_per_page: int
    next_offset: str
    results: int


class PageOf(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of pages."""

    prefix: str = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class PageOfRepository(InRepository, frozen=True, kw_only=True):
    """Parameters of pages in a repository."""

    prefix: str = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


def page_amount(amount: int) -> int:
    """Returns the maximum number of items of a page: the amount, or the default for 0 and -1."""
    return min(amount, MAX_AMOUNT) if amount > 0 else DEFAULT_AMOUNT


def brief_page_amount(amount: int) -> int:
    """Returns the same for a brief read, of which a longer page than the default takes long."""
    if page_amount(amount) > DEFAULT_AMOUNT:
        about_to_take_long()
    return page_amount(amount)


def to_pagination(page: Page[Any], *, max_per_page: int = MAX_AMOUNT) -> Pagination:
    """Returns the description of a page."""
    return Pagination(
        has_more=page.has_more,
        max_per_page=max_per_page,
        next_offset=page.next_offset if page.has_more else "",
        results=len(page.items),
    )
