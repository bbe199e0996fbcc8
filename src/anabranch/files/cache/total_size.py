"""The number of bytes in a folder of cached files, kept for all processes that share the folder.

Counting the files takes time in proportion to their number, so the total is kept in a small file
and every process adds to it under a lock. It consists of what the last count found and what was
added since that count began. A file that appears during a count may therefore be counted twice,
never missed. A process that is killed between placing a file and adding its size leaves the total
short by that one file; the next count corrects it.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CachedTotal"]

_RECORD = struct.Struct("<qq")
_UNCOUNTED = -1


class CachedTotal:
    """The total in the file at `path`, in bytes."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, size: int) -> int | None:
        """Adds `size` and returns the total, None if the files have never been counted."""
        with self._record() as record:
            record[1] += size
            counted, added = record
        return None if counted == _UNCOUNTED else counted + added

    def begin_count(self) -> int:
        """Returns what has been added so far; `end_count` is called with it after the count."""
        with self._record() as record:
            return record[1]

    def end_count(self, counted: int, added_before: int) -> None:
        """Replaces the total by a count, and by what was added since the count began."""
        with self._record() as record:
            record[0] = counted
            record[1] -= added_before

    @contextmanager
    def _record(self) -> Iterator[list[int]]:
        """Gives [counted, added] under the lock, and writes it back if it was changed."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            content = os.pread(descriptor, _RECORD.size, 0)
            before = _RECORD.unpack(content) if len(content) == _RECORD.size else (_UNCOUNTED, 0)
            record = list(before)
            yield record
            if record != list(before):
                os.pwrite(descriptor, _RECORD.pack(*record), 0)
        finally:
            os.close(descriptor)
