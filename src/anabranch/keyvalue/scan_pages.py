"""Scans that read page by page. Without a limit the first page is small: most callers stop after a
few pairs.

No lock, cursor or connection is held between pages, so a scan that is not read to its end blocks
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

__all__ = ["scan_in_pages"]

_FIRST_PAGE_SIZE, _PAGE_SIZE = 64, 1_000

Page = Callable[[bytes, bytes | None, int], Sequence[tuple[bytes, bytes]]]
"""Returns the pairs with start <= key < end, in order, at most as many as its last argument."""


def scan_in_pages(
    read_page: Page, start: bytes, end: bytes | None, limit: int | None
) -> Iterator[tuple[bytes, bytes]]:
    """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
    page_size = _FIRST_PAGE_SIZE if limit is None else _PAGE_SIZE
    while limit is None or limit > 0:
        if limit is not None:
            page_size = min(page_size, limit)
            limit -= page_size
        rows = read_page(start, end, page_size)
        yield from rows
        if len(rows) < page_size:
            return
        start = rows[-1][0] + b"\0"
        page_size = _PAGE_SIZE
