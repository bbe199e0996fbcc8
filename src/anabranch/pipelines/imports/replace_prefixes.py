"""Second step of an import: replaces the objects under the destinations by the imported ones."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.merge_sorted_runs import decode_records

__all__ = ["Change", "replacement_changes"]

Change: TypeAlias = tuple[bytes, tuple[bytes, bytes] | None]
"""A key, and its new entry's identity and data; None deletes it."""


def replacement_changes(
    head: kernel.Tree, imported: kernel.Tree, prefixes: Iterable[bytes]
) -> Iterator[Change]:
    """Yields the changes, in order, that add the imported objects to a tree and delete its other
    objects under the prefixes.
    """
    replaced = [prefix for prefix in _without_nested(prefixes) if head.contains_prefix(prefix)]
    if not replaced:
        yield from decode_records(imported)
        return
    added = ((key, 0, value) for key, value in decode_records(imported))
    deleted = ((key, 1, None) for prefix in replaced for key, _ in decode_records(head, prefix))
    previous: bytes | None = None
    for key, _, value in heapq.merge(added, deleted):
        if key != previous:
            previous = key
            yield key, value


def _without_nested(prefixes: Iterable[bytes]) -> list[bytes]:
    """Returns the prefixes in order, without those that begin with another one."""
    outer: list[bytes] = []
    for prefix in sorted(prefixes):
        if not outer or not prefix.startswith(outer[-1]):
            outer.append(prefix)
    return outer
