"""The second half of an import: what it found takes the place of what is at its destination."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.ordering import records_of

__all__ = ["Change", "replacement"]

Change: TypeAlias = tuple[bytes, tuple[bytes, bytes] | None]
"""A key, and its new entry's identity and data; None deletes it."""


def replacement(
    head: kernel.Tree, imported: kernel.Tree, prefixes: Iterable[bytes]
) -> Iterator[Change]:
    """Yields the changes, in order, that put the imported objects onto a tree in place of all that
    lies under the prefixes there.
    """
    replaced = [prefix for prefix in _apart(prefixes) if head.contains_prefix(prefix)]
    if not replaced:
        yield from records_of(imported)
        return
    coming = ((key, 0, value) for key, value in records_of(imported))
    leaving = ((key, 1, None) for prefix in replaced for key, _ in records_of(head, prefix))
    before: bytes | None = None
    for key, _, value in heapq.merge(coming, leaving):
        if key != before:
            before = key
            yield key, value


def _apart(prefixes: Iterable[bytes]) -> list[bytes]:
    """Returns prefixes in order, without those that others cover."""
    apart: list[bytes] = []
    for prefix in sorted(prefixes):
        if not apart or not prefix.startswith(apart[-1]):
            apart.append(prefix)
    return apart
