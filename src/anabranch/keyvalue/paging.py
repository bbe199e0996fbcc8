"""Scans in pages, of which the first is small: most scans are left after a few pairs.

Between pages nothing is held, so a scan that its reader leaves lying costs nobody anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["scan_in_pages"]

_FIRST_PAGE, _PAGE = 64, 1_000

Page = Callable[[bytes, bytes | None, int], list[tuple[bytes, bytes]]]
"""Reads the pairs with start <= key < end, in order, so many at most."""


def scan_in_pages(
    page: Page, start: bytes, end: bytes | None, limit: int | None
) -> Iterator[tuple[bytes, bytes]]:
    """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
    amount = _FIRST_PAGE
    while limit is None or limit > 0:
        if limit is not None:
            amount = min(amount, limit)
            limit -= amount
        rows = page(start, end, amount)
        yield from rows
        if len(rows) < amount:
            return
        start = rows[-1][0] + b"\0"
        amount = _PAGE
