"""Staging: the uncommitted changes of a branch.

A branch names its staging areas, the newest first: one active area, which receives new changes, and
the sealed ones, which a commit is about to apply. Every write is made on condition that the
branch's record has not changed, so nothing is ever written to a sealed area: a commit sees a final
set of changes.

In a staging area a key has either a value or a tombstone (None), which marks it as deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.caller import Principal
from anabranch.versioning.records.entries import Value
from anabranch.versioning.staging.code_authors import authors_of, with_authors

__all__ = ["Row", "Staged", "Staging"]

Row = tuple[bytes, bytes]
"""(key, StagedEntryData record)."""


class Staged(NamedTuple):
    """A key's newest staged change; `value` is None for a tombstone, `token` names its area."""

    value: Value | None
    token: str


class Staging:
    """The staging areas of all branches."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def get(self, tokens: Sequence[str], key: bytes) -> Staged | None:
        """Returns the newest change to a key, or None if there is none."""
        for token in tokens:
            raw = self._keyvalue.get(token, key)
            if raw is not None:
                return Staged(kernel.decode_staged(raw)[1], token)
        return None

    def authors(
        self, tokens: Sequence[str], key: bytes, value: Value | None
    ) -> tuple[Principal, ...] | None:
        """Returns who has staged a value of code; none if that value is not staged, None if it is
        not known.
        """
        for token in tokens:
            raw = self._keyvalue.get(token, key)
            if raw is not None and kernel.decode_staged(raw)[1] == value:
                return authors_of(raw)
        return ()

    def write(self, token: str, key: bytes, value: Value | None) -> Write:
        """Returns the write that stages a change."""
        return Write(token, key, with_authors(key, kernel.encode_staged(key, value)))

    def remove(self, token: str, key: bytes) -> Write:
        """Returns the write that discards a change."""
        return Write(token, key, None)

    def unchanged(self, token: str, key: bytes) -> Expect:
        """Returns the condition that the key's change has not changed since this call."""
        return Expect(token, key, self._keyvalue.get(token, key))

    def is_empty(self, tokens: Sequence[str]) -> bool:
        """Returns whether no change is staged."""
        return not any(list(self._keyvalue.scan(token, limit=1)) for token in tokens)

    def rows(
        self,
        tokens: Sequence[str],
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """Yields the changes with start <= key < end, at most `limit`, the newest of each key, in
        order, as stored records, which the kernel decodes.
        """
        scans = [self._keyvalue.scan(token, start, end, limit=limit) for token in tokens]
        if len(scans) == 1:
            return scans[0]
        return islice(_merge_newest(scans), limit)

    def chunk(
        self, tokens: Sequence[str], start: bytes, end: bytes | None, limit: int
    ) -> tuple[list[Row], bool]:
        """Returns the first `limit` changes from `start` on, as `rows` does, and whether they are
        the last before `end`.
        """
        rows = list(self.rows(tokens, start, end, limit=limit))
        return rows, len(rows) < limit

    def changes(
        self, tokens: Sequence[str], start: bytes = b"", end: bytes | None = None
    ) -> Iterator[tuple[bytes, Value | None]]:
        """Yields every change with start <= key < end, the newest of each key, in order."""
        for key, record in self.rows(tokens, start, end):
            yield key, kernel.decode_staged(record)[1]


def _merge_newest(scans: Sequence[Iterable[Row]]) -> Iterator[Row]:
    """Merges the rows of several areas by key; for each key, yields the row of the first area."""

    def ranked(rank: int, scan: Iterable[Row]) -> Iterator[tuple[bytes, int, bytes]]:
        return ((key, rank, record) for key, record in scan)

    previous: bytes | None = None
    for key, _, record in heapq.merge(*(ranked(*numbered) for numbered in enumerate(scans))):
        if key != previous:
            previous = key
            yield key, record
