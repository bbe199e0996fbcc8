"""A key-value store as it will be after writes that have not been made yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NoReturn

from anabranch.keyvalue.contract import Expect, KeyRange, KeyValueStore, Row, Write

__all__ = ["PendingStore"]


class PendingStore:
    """Reads of a store with writes that are pending; it takes no writes itself."""

    def __init__(self, store: KeyValueStore, writes: Iterable[Write]) -> None:
        self._store = store
        self._pending = {(partition, key): value for partition, key, value in writes}

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        if (partition, key) in self._pending:
            return self._pending[partition, key]
        return self._store.get(partition, key)

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order."""
        stored = self._store.get_many(partition, keys)
        return [
            self._pending.get((partition, key), value)
            for key, value in zip(keys, stored, strict=True)
        ]

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
        rows: dict[bytes, bytes | None] = dict(self._store.scan(partition, start, end))
        for (written, key), value in self._pending.items():
            if written == partition and start <= key and (end is None or key < end):
                rows[key] = value
        present = ((key, value) for key, value in sorted(rows.items()) if value is not None)
        return islice(present, limit)

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the rows of several ranges."""
        return [list(self.scan(partition, start, end)) for start, end in ranges]

    def apply(
        self,
        writes: Sequence[Write],  # noqa: ARG002  the store's signature
        expect: Sequence[Expect] = (),  # noqa: ARG002
    ) -> NoReturn:
        """Raises TypeError: pending writes are made by others."""
        raise TypeError("a pending store takes no writes")

    def drop(self, partition: str) -> NoReturn:  # noqa: ARG002
        """Raises TypeError, as `apply` does."""
        raise TypeError("a pending store takes no writes")

    def close(self) -> None:
        """Does nothing: the store belongs to others."""
