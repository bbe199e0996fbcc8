"""Pages of listings."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

__all__ = ["DEFAULT_AMOUNT", "MAX_AMOUNT", "Page", "upper_bound"]

Item = TypeVar("Item")

DEFAULT_AMOUNT = 100
MAX_AMOUNT = 1000


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Items in order; `next_offset` is the `after` of the next page, empty if there is none."""

    items: list[Item]
    has_more: bool = False
    next_offset: str = ""


def upper_bound(prefix: bytes) -> bytes | None:
    """Returns the smallest key greater than every key with this prefix; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
