"""A key-value store that reads a snapshot, for code that expects a store. It takes no writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from anabranch.keyvalue.contract import Expect, KeyRange, Row, StoreSnapshot, Write

__all__ = ["FrozenStore"]


class FrozenStore:
    """The keys of a snapshot, which belongs to the caller."""

    def __init__(self, snapshot: StoreSnapshot) -> None:
        self._snapshot = snapshot

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        return self._snapshot.get(partition, key)

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order."""
        return [self._snapshot.get(partition, key) for key in keys]

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
        return self._snapshot.scan(partition, start, end, limit=limit)

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the pairs of each range, in order."""
        return [list(self._snapshot.scan(partition, start, end)) for start, end in ranges]

    def apply(
        self,
        writes: Sequence[Write],  # noqa: ARG002  the store's signature
        expect: Sequence[Expect] = (),  # noqa: ARG002
    ) -> NoReturn:
        """Raises TypeError: a snapshot does not change."""
        raise TypeError("a snapshot takes no writes")

    def drop(self, partition: str) -> NoReturn:  # noqa: ARG002
        """Raises TypeError, as `apply` does."""
        raise TypeError("a snapshot takes no writes")

    def close(self) -> None:
        """Does nothing: the snapshot belongs to the caller."""
