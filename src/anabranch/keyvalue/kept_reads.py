"""Values as they were read, kept for as long as nobody has written.

Most requests ask for the same few records: a repository, a branch, a user. While nobody writes,
they cost a look at the counter of changes and into a dictionary; a database asked again for each
would take and release its locks.

A value that was read after the counter was seen to have an even number is the latest as long as it
has that number: whoever commits another makes the number greater before, and it never comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from anabranch.keyvalue.change_counter import ChangeCounter, Shared

__all__ = ["KeptReads"]

Values: TypeAlias = "dict[tuple[str, bytes], bytes | None]"

_MOST = 8_192
_LARGEST = 4_096
_UNKNOWN = b"unknown"


class _Kept(NamedTuple):
    """What was read while a counter had a number. One object, so that no thread sees the values
    of another number.
    """

    counter: Shared | None
    number: int
    values: Values


class KeptReads:
    """What `read` returned, at most 8,192 values of up to 4 KiB. Safe for use from many threads."""

    def __init__(self, changes: ChangeCounter, read: Callable[[str, bytes], bytes | None]) -> None:
        self._changes = changes
        self._read = read
        self._kept = _Kept(None, 0, {})

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value that the database has now, or None."""
        counter = self._changes.shared
        now = counter.number[0]
        kept = self._kept
        current = kept.number == now and kept.counter is counter and counter.in_place()
        name = (partition, key)
        if current:
            known = kept.values.get(name, _UNKNOWN)
            if known is not _UNKNOWN:
                return known
        value = self._read(partition, key)
        # if the number has changed meanwhile, nobody will find it
        if not now & 1 and (value is None or len(value) <= _LARGEST):
            if not current or len(kept.values) >= _MOST:
                self._kept = kept = _Kept(counter, now, {})
            kept.values[name] = value
        return value

    def close(self) -> None:
        """Keeps nothing from now on."""
        self._changes.close()
        self._kept = _Kept(None, 0, {})
