"""Pages of listings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from anabranch.errors import NotSupported
from anabranch.files.html_table import html_table

__all__ = ["DEFAULT_AMOUNT", "MAX_AMOUNT", "Page", "take_page", "upper_bound"]

Item = TypeVar("Item")

DEFAULT_AMOUNT = 100
MAX_AMOUNT = 1000


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Items in order; `next_offset` is the `after` of the next page, empty if there is none."""

    items: list[Item]
    has_more: bool = False
    next_offset: str = ""

    def to_pandas(self) -> Any:
        """Returns the items as a pandas DataFrame, with the columns that notebooks show. Raises
        NotSupported if pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415  only where it is used
        except ImportError as error:
            raise NotSupported(
                "pandas is not installed", kind="library_missing", hint="Install pandas."
            ) from error
        return pd.DataFrame.from_records([_cells(item) for item in self.items])

    def _repr_html_(self) -> str:
        """Returns the table that notebooks show."""
        return html_table([_cells(item) for item in self.items], has_more=self.has_more)


def _cells(item: Any) -> dict[str, Any]:
    """Returns what a table shows of an item: its `cells` if it has them, else its fields."""
    if hasattr(item, "cells"):
        cells: dict[str, Any] = item.cells()
        return cells
    return msgspec.structs.asdict(item) if isinstance(item, msgspec.Struct) else {"": item}


def take_page(items: Iterable[Item], amount: int, offset: Callable[[Item], str]) -> Page[Item]:
    """Returns the first `amount` items as a page, which has more if there is another item. `offset`
    returns the `after` that follows an item. Reads no more than one item beyond the page.
    """
    page: list[Item] = []
    for item in items:
        if len(page) == amount:
            return Page(page, has_more=True, next_offset=offset(page[-1]) if page else "")
        page.append(item)
    return Page(page)


def upper_bound(prefix: bytes) -> bytes | None:
    """Returns the smallest key greater than every key with this prefix; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
