"""Changes that an export applies to its destination: every path that an export may have changed
since the last complete one, in order, with its current value.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.versioning.records.entries import Value
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["Change", "changes"]

Change: TypeAlias = tuple[bytes, Value | None]
"""A key and its value in the commit; None if the commit does not have the key."""

_PAGE = 1_000


def changes(
    base: kernel.Tree,
    attempts: Sequence[kernel.Tree],
    after: bytes = b"",
    until: bytes | None = None,
    page: int = _PAGE,
) -> Iterator[Change]:
    """Yields the keys after `after`, up to `until` if it is given, at which any of the attempted
    trees differs from the base, with their values in the last tree, which is the one to export.
    """
    if len(attempts) == 1:
        yield from _differences(base, attempts[0], after, until, page)
        return
    streams = [_differing_keys(base, attempt, after, until, page) for attempt in attempts]
    previous: bytes | None = None
    for key in heapq.merge(*streams):
        if key != previous:
            previous = key
            with translate_errors():
                yield key, attempts[-1].get(key)


def _differing_keys(
    left: kernel.Tree, right: kernel.Tree, after: bytes, until: bytes | None, amount: int
) -> Iterator[bytes]:
    """Yields the keys at which two trees differ, in order."""
    return (key for key, _ in _differences(left, right, after, until, amount))


def _differences(
    left: kernel.Tree, right: kernel.Tree, after: bytes, until: bytes | None, amount: int
) -> Iterator[Change]:
    """Yields the keys at which two trees differ, in order, with their values in the right one."""
    more = True
    while more:
        with translate_errors():
            page = left.diff(right, after=after, until=until, amount=amount)
        for _, key, _, value in page.rows:
            yield key, value
        more = page.has_more
        if more:
            after = page.rows[-1][1]
