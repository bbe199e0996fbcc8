"""The interface of key-value stores.

Each key belongs to a partition; the keys of a partition are ordered by their bytes. `apply` is the
only operation that changes keys: it makes several writes atomically, on condition that certain keys
hold the values that the caller expects. It is the compare-and-set that everything above rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

__all__ = ["Expect", "KeyRange", "KeyValueStore", "PartitionSize", "Row", "StoreSnapshot", "Write"]

Row = tuple[bytes, bytes]
"""A key and its value."""

KeyRange = tuple[bytes, bytes]
"""The keys with start <= key < end."""


class Write(NamedTuple):
    """Sets a key to a value; a value of None removes it."""

    partition: str
    key: bytes
    value: bytes | None


class Expect(NamedTuple):
    """A condition: the key holds exactly this value, or, for None, is absent."""

    partition: str
    key: bytes
    value: bytes | None


class KeyValueStore(Protocol):
    """An ordered, durable store with compare-and-set. Safe for use from many threads and, if it is
    on disk, from many processes.
    """

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order."""

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them.

        Values may be of different moments when others write meanwhile, but each key appears at
        most once, and every key that exists throughout is yielded.
        """

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the pairs of each range, in order of the keys, as all of them were at one moment
        after the call began. They are in memory at once, so the ranges must be bounded.
        """

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes atomically if every expectation holds, else none.

        Returns whether it made them; if so, the writes are durable and visible to every read that
        begins afterwards. Raises Busy when the store cannot take writes now (a full disk, a lock
        that stays taken); nothing is written then. Raises OutcomeUnknown when the store cannot
        tell whether the writes were made: either all of them are or none, and that is final.
        """

    def drop(self, partition: str) -> None:
        """Removes a whole partition; durable when it returns. Not atomic: concurrent readers may
        see some of the keys removed and others not.
        """

    def close(self) -> None:
        """Finishes writes in flight and releases the store."""


class PartitionSize(NamedTuple):
    """A partition, and the number of its keys."""

    partition: bytes
    keys: int


class StoreSnapshot(Protocol):
    """All keys of a store as they were at one moment. Used by one thread; `close` releases what
    keeps the moment, which the store needs space for.
    """

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""

    def partitions(self) -> Sequence[PartitionSize]:
        """Returns all partitions, with the numbers of their keys."""

    def close(self) -> None:
        """Releases the snapshot."""
