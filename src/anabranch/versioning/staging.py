"""Staging: the changes of a branch that no commit has taken in yet.

A branch names its staging areas, the newest first: one active, which takes new changes, and the
sealed ones, which a commit is taking in. Every write holds only if the branch's record is still the
one that was read, so nothing is ever written to a sealed area: what a commit sees is final.

In a staging area a key has either a value or a tombstone (None), which says that it is deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["Staged", "Staging", "Value"]

Value = tuple[bytes, bytes]
"""(identity, data), as in the kernel."""

_SCAN = 1000


class Staged(NamedTuple):
    """A key's newest staged change; `value` is None for a tombstone, `token` says where."""

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

    def write(self, token: str, key: bytes, value: Value | None) -> Write:
        """Returns the write that stages a change."""
        return Write(token, key, kernel.encode_staged(key, value))

    def remove(self, token: str, key: bytes) -> Write:
        """Returns the write that takes a change back."""
        return Write(token, key, None)

    def unchanged(self, token: str, key: bytes) -> Expect:
        """Returns the condition that the key's change is still what it is now."""
        return Expect(token, key, self._keyvalue.get(token, key))

    def is_empty(self, tokens: Sequence[str]) -> bool:
        """Returns whether no change at all is staged."""
        return not any(list(self._keyvalue.scan(token, limit=1)) for token in tokens)

    def chunk(
        self, tokens: Sequence[str], start: bytes, end: bytes | None, limit: int = _SCAN
    ) -> tuple[list[tuple[bytes, Value | None]], bool]:
        """Returns up to about `limit` changes from `start` on, the newest of each key, in order,
        and whether they are the last before `end`.
        """
        if len(tokens) == 1:
            rows = list(self._keyvalue.scan(tokens[0], start, end, limit=limit))
            return [kernel.decode_staged(raw) for _, raw in rows], len(rows) < limit
        return self._merged_chunk(tokens, start, end, limit)

    def _merged_chunk(
        self, tokens: Sequence[str], start: bytes, end: bytes | None, limit: int
    ) -> tuple[list[tuple[bytes, Value | None]], bool]:
        scans = [list(self._keyvalue.scan(token, start, end, limit=limit)) for token in tokens]
        # beyond the end of a scan that was cut short, that area may hold newer changes
        cut = min((rows[-1][0] for rows in scans if len(rows) == limit), default=None)
        merged: list[tuple[bytes, Value | None]] = []
        ranked = [[(key, rank, raw) for key, raw in rows] for rank, rows in enumerate(scans)]
        for key, _, raw in heapq.merge(*ranked):
            if cut is not None and key > cut:
                break
            if not merged or merged[-1][0] != key:
                merged.append(kernel.decode_staged(raw))
        return merged, cut is None

    def changes(
        self, tokens: Sequence[str], start: bytes = b"", end: bytes | None = None
    ) -> Iterator[tuple[bytes, Value | None]]:
        """Yields every change with start <= key < end, the newest of each key, in order."""
        last = not tokens
        while not last:
            rows, last = self.chunk(tokens, start, end)
            yield from rows
            if rows:
                start = rows[-1][0] + b"\x00"
