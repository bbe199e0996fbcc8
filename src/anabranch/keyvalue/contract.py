"""What every key-value store does.

A key lies in a partition; keys of one partition are ordered by their bytes. Changes are made by
`apply` alone: several writes, at once or not at all, on condition that certain keys hold what the
caller believes they hold. That one operation is the compare-and-set everything above rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

__all__ = ["Expect", "KeyValueStore", "Write"]


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
    """An ordered, durable store with compare-and-set. Safe for use from many threads and, where
    it lies on disk, from many processes.
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
        most once, and every key that was there throughout appears.
        """

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes at once if every expectation holds, else none.

        Returns whether it did; when it returns True the writes are durable, and visible to every
        reader that begins afterwards. Raises Busy when the store cannot take writes now (a full
        disk, a lock that does not clear), and nothing was written then; but OutcomeUnknown where
        the store has lost sight of it: all of it is written or nothing, and that is final.
        """

    def drop(self, partition: str) -> None:
        """Removes a whole partition; durable when it returns. Others may see it half done."""

    def close(self) -> None:
        """Finishes writes in flight and releases the store."""
