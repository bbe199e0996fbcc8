"""What an export must look at: every path that an attempt may have touched since the place was
whole, in order, and what it must hold now.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.versioning.staging import Value
from anabranch.versioning.trees import translated

__all__ = ["Change", "changes"]

Change: TypeAlias = tuple[bytes, Value | None]
"""A key, and the value that it must have; None: nothing must be there."""

_PAGE = 1_000


def changes(
    base: kernel.Tree, attempts: Sequence[kernel.Tree], after: bytes = b"", page: int = _PAGE
) -> Iterator[Change]:
    """Yields the keys behind `after` at which any of the attempted trees differs from the base,
    with their values in the last one, which is to be there.
    """
    streams = [_touched(base, attempt, after, page) for attempt in attempts]
    before: bytes | None = None
    for key in heapq.merge(*streams):
        if key != before:
            before = key
            with translated():
                yield key, attempts[-1].get(key)


def _touched(left: kernel.Tree, right: kernel.Tree, after: bytes, amount: int) -> Iterator[bytes]:
    """Yields the keys at which two trees differ, in order."""
    more = True
    while more:
        with translated():
            page = left.diff(right, after=after, amount=amount)
        for _, key, _, _ in page.rows:
            yield key
        more = page.has_more
        if more:
            after = page.rows[-1][1]
