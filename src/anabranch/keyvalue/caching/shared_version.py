"""The change counter: a version number shared by all processes that have a database open.

It is stored in a small file next to the database, which every process maps. It is used like a
seqlock: a writer makes the number odd before it commits a transaction, and even and greater after
the commit, before it acknowledges the write. So a value that was read while the number was even is
current until the number changes.

    even  no commit is running      odd  a commit is running, or its writer has failed or died

All processes must map one file. A reader notices when the file that it has mapped was removed, and
then caches nothing; a writer counts its commit also in the file that has taken its place. A file
that was moved away or overwritten is not noticed: like SQLite's own files next to a database, it
must not be touched while a process has the database open.
"""

from __future__ import annotations

import mmap
import os
from array import array

from anabranch import _kernel as kernel

__all__ = ["SeqlockCounter", "SharedCounter"]

_NUMBER_BYTES = 8
_BYTES = 16


class SharedCounter:
    """A mapped file. `number[0]` is the number that all processes share."""

    __slots__ = ("_descriptor", "number")

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._descriptor).st_size < _BYTES:
            # writes a byte after the number, since another process may already count; and allocates
            # the block now: on a full disk, writing to a mapped hole kills the process
            os.pwrite(self._descriptor, b"\0", _BYTES - 1)
        # read and written as one machine word, so no reader sees a half-written number
        self.number = memoryview(mmap.mmap(self._descriptor, _BYTES))[:_NUMBER_BYTES].cast("Q")

    def is_current_inode(self) -> bool:
        """Returns whether the file has neither been removed nor replaced by another."""
        return kernel.has_name(self._descriptor)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


class ClosedCounter(SharedCounter):
    """Takes the place of a released file. Its number is odd, so nothing is cached."""

    __slots__ = ()

    def __init__(self) -> None:
        self.number = memoryview(array("Q", [1]))

    def is_current_inode(self) -> bool:
        return False


class SeqlockCounter:
    """The change counter of the database at `path`. Callers of `begin` and `end` must hold the
    write lock.

    Raises OSError when the file cannot be created or mapped.
    """

    def __init__(self, path: str) -> None:
        self._path = path + "-changes"
        self.shared = SharedCounter(self._path)

    def begin(self) -> None:
        """Marks the start of a commit: from now on, readers may find the new values."""
        self.shared.number[0] |= 1

    def end(self) -> None:
        """Marks the end of a commit: from now on, no reader finds the old values."""
        _end(self.shared)
        # a process that maps a newer file later than this reads the new values from the database
        while not self.shared.is_current_inode():
            self.shared = SharedCounter(self._path)
            _end(self.shared)

    def close(self) -> None:
        """Releases the file, which is unmapped when the last reader drops it."""
        self.shared = ClosedCounter()


def _end(shared: SharedCounter) -> None:
    shared.number[0] = (shared.number[0] | 1) + 1
