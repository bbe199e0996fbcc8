"""A number that tells whether a database has changed: shared by all processes that have it open.

It lies in a small file beside the database, which every process maps. Whoever writes makes it odd
before a transaction is committed, and even and greater after that, before anybody is told that the
write was made. So what was read while the number was even is the latest as long as it is the same.

    even  nothing is being committed       odd  something is, or its writer failed or died meanwhile

All must look at one file. Who reads sees whether the one that it has mapped was removed, and then
keeps nothing; who writes counts its commit in the file in its place as well. A file that was only
moved away is not noticed, nor is one that was written over: like SQLite's own files beside a
database, it must be left alone while a process has the database open.
"""

from __future__ import annotations

import mmap
import os
from array import array

from anabranch import _kernel as kernel

__all__ = ["ChangeCounter", "Shared"]

_NUMBER_BYTES = 8
_BYTES = 16


class Shared:
    """A mapped file; what others see too is `number[0]`."""

    __slots__ = ("_descriptor", "number")

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._descriptor).st_size < _BYTES:
            # a byte behind the number, which another process may have begun to count; and one that
            # takes its place on the disk now: a full one kills who writes to a mapped hole
            os.pwrite(self._descriptor, b"\0", _BYTES - 1)
        # read and written as one word, so nobody sees half of it
        self.number = memoryview(mmap.mmap(self._descriptor, _BYTES))[:_NUMBER_BYTES].cast("Q")

    def in_place(self) -> bool:
        """Returns whether the file has not been removed, nor replaced by another."""
        return kernel.has_name(self._descriptor)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


class _Closed(Shared):
    """What comes in a file's place when it is let go of: nobody keeps anything by its number."""

    __slots__ = ()

    def __init__(self) -> None:
        self.number = memoryview(array("Q", [1]))

    def in_place(self) -> bool:
        return False


class ChangeCounter:
    """The number of the database at `path`. Who calls `begin` and `end` holds the turn to write.

    Raises OSError where the file cannot be made or mapped.
    """

    def __init__(self, path: str) -> None:
        self._path = path + "-changes"
        self.shared = Shared(self._path)

    def begin(self) -> None:
        """Says that from now on a reader may find what is new."""
        self.shared.number[0] |= 1

    def end(self) -> None:
        """Says that from now on no reader finds what is old."""
        _end(self.shared)
        # who maps another file later than this finds what is new in the database
        while not self.shared.in_place():
            self.shared = Shared(self._path)
            _end(self.shared)

    def close(self) -> None:
        """Lets go of the file, as soon as nobody looks at it any more."""
        self.shared = _Closed()


def _end(shared: Shared) -> None:
    shared.number[0] = (shared.number[0] | 1) + 1
