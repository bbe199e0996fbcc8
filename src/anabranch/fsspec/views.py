"""The objects at a reference, as files: of a commit, by a snapshot, or of a branch as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from anabranch.errors import AnabranchError, Denied, NotFound
from anabranch.lake.object_file import ObjectFile
from anabranch.lake.reference_handle import ReferenceHandle
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.model.objects.batch import MAX_BATCH_OBJECTS
from anabranch.model.objects.stat import CommonPrefix, Stat

__all__ = ["BranchView", "SnapshotView", "View"]

_THREADS = 16


class View(Protocol):
    """The objects at a reference. Methods raise AnabranchError."""

    def stat(self, path: str) -> Stat:
        """Returns the properties of an object. Raises NotFound."""

    def items(self, prefix: str, delimiter: str = "") -> Iterator[Stat | CommonPrefix]:
        """Yields the objects below a prefix, and common prefixes if there is a delimiter."""

    def open(self, path: str) -> ObjectFile:
        """Returns an object, open for reading. Raises NotFound."""

    def contents(self, paths: Sequence[str]) -> Iterator[bytes | AnabranchError]:
        """Yields the contents of objects, in order, or the error in place of one."""


class SnapshotView:
    """The objects of a commit."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def stat(self, path: str) -> Stat:
        """Returns the properties of an object. Raises NotFound."""
        return self.snapshot.stat(path)

    def items(self, prefix: str, delimiter: str = "") -> Iterator[Stat | CommonPrefix]:
        """Yields the objects below a prefix, and common prefixes if there is a delimiter."""
        return self.snapshot.list(prefix, delimiter=delimiter)

    def open(self, path: str) -> ObjectFile:
        """Returns an object, open for reading. Raises NotFound."""
        return self.snapshot.open(path, "rb")

    def contents(self, paths: Sequence[str]) -> Iterator[bytes | AnabranchError]:
        """Yields the contents of objects, in order, or the error in place of one."""
        there = [path for path in paths if path in self.snapshot]
        reading, done = self.snapshot.read_many(there), 0
        for path in paths:
            if done == len(there) or path != there[done]:
                yield NotFound(f"no object at {path!r}", kind="object_not_found")
                continue
            done += 1
            try:
                yield next(reading)
            except AnabranchError as error:
                yield error
                reading = self.snapshot.read_many(there[done:])


class BranchView:
    """The objects of a branch, or of an expression such as `main~`, as the server has them now."""

    def __init__(self, reference: ReferenceHandle) -> None:
        self._reference = reference

    def stat(self, path: str) -> Stat:
        """Returns the properties of an object. Raises NotFound."""
        return self._reference.stat(path)

    def items(self, prefix: str, delimiter: str = "") -> Iterator[Stat | CommonPrefix]:
        """Yields the objects below a prefix, and common prefixes if there is a delimiter."""
        return self._reference.objects(prefix, delimiter=delimiter)

    def open(self, path: str) -> ObjectFile:
        """Returns an object, open for reading. Raises NotFound."""
        return self._reference.open(path, "rb")

    def contents(self, paths: Sequence[str]) -> Iterator[bytes | AnabranchError]:
        """Yields the contents of objects, in order, or the error in place of one."""
        for begin in range(0, len(paths), MAX_BATCH_OBJECTS):
            some = paths[begin : begin + MAX_BATCH_OBJECTS]
            try:
                yield from self._reference.contents(some)
            except Denied:  # of one of them, or of all
                with ThreadPoolExecutor(_THREADS) as pool:
                    yield from pool.map(self._content, some)

    def _content(self, path: str) -> bytes | AnabranchError:
        try:
            return self._reference.read(path)
        except AnabranchError as error:
            return error
