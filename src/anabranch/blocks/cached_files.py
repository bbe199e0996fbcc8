"""Files kept in a folder up to a number of bytes, for all processes of a machine.

The folder itself is the only state: a file has its name when it is whole, its time of change says
when it was last asked for, and what is being brought is locked by who brings it. A process that is
killed therefore leaves nothing wrong. What the files come to is kept beside them (`CachedTotal`);
the folder is read only when that exceeds the capacity, and files are then removed in a batch.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from anabranch.blocks.cached_total import CachedTotal
from anabranch.private_folders import make_private_folder

__all__ = ["CachedFiles"]

_PART = ".part"
_LOCK = "lock"
_TOTAL = "total"
_OWN = frozenset({_LOCK, _TOTAL})
_ABANDONED_SECONDS = 3_600.0
_BATCH = 16
"""A removal frees a sixteenth of the capacity, so that it is needed once for many files."""


class CachedFiles:
    """The files of `folder`, at most `capacity_bytes` of them; more than that go, least recently
    asked for first.

    A file asked for within `grace_seconds` stays even beyond the capacity, so that who was given
    its path can open it. An open file may be removed: it is read on as if it were there. The folder
    is made again when it was removed.
    """

    def __init__(
        self, folder: str | os.PathLike[str], capacity_bytes: int, grace_seconds: float
    ) -> None:
        self.folder = str(Path(folder).resolve())
        self._make_folder()
        self._capacity = capacity_bytes
        self._grace = grace_seconds
        self._total = CachedTotal(f"{self.folder}/{_TOTAL}")
        self._all_kept_until = 0.0

    def find(self, name: str) -> str | None:
        """Returns the path of a file that is here, or None."""
        path = f"{self.folder}/{name}"
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def bring(self, name: str, fill: Callable[[int], None], check: Callable[[str], None]) -> str:
        """Returns the path of a file, made by one caller of all that ask for it meanwhile.

        `fill` writes it to a descriptor, `check` looks at the path of the whole; when either
        raises, nothing stays and the next caller tries.
        """
        while True:
            path = self.find(name)
            try:
                if path is None and self._bring(name, fill, check):
                    path = self.find(name)
            except FileNotFoundError:
                if not self._restore_folder():
                    raise
            if path is not None:
                return path

    def take(self, source: str, name: str) -> None:
        """Moves a whole file of the same file system here."""
        os.utime(source)
        self._place(source, name)

    def temporary_folder(self, prefix: str) -> str:
        """Returns the path of a new folder in this one; the caller removes it."""
        try:
            return tempfile.mkdtemp(prefix=prefix, dir=self.folder)
        except FileNotFoundError:
            self._make_folder()
            return tempfile.mkdtemp(prefix=prefix, dir=self.folder)

    def remove(self, name: str) -> None:
        """Removes a file; one that is not there is passed over."""
        path = f"{self.folder}/{name}"
        size = _size(path)
        if size is not None and _remove(path):
            self._add(-size)

    def shrink(self) -> None:
        """Counts the files and removes what exceeds the capacity, unless another process is at
        that.
        """
        lock = os.open(f"{self.folder}/{_LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._shrink()
        except BlockingIOError:
            return
        finally:
            os.close(lock)

    def _make_folder(self) -> None:
        make_private_folder(self.folder)

    def _restore_folder(self) -> bool:
        """Makes the folder if it is not there, and returns whether that was so."""
        if os.path.isdir(self.folder):
            return False
        self._make_folder()
        return True

    def _bring(self, name: str, fill: Callable[[int], None], check: Callable[[str], None]) -> bool:
        """Returns whether the file was made, by this caller; else it is time to look again."""
        part = f"{self.folder}/{name}{_PART}"
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, part):
                return False  # who had the lock has finished the file, or given it up
            try:
                os.ftruncate(descriptor, 0)
                fill(descriptor)
                os.fdatasync(descriptor)
                check(part)
                self._place(part, name)
            except BaseException:
                _remove(part)
                raise
            return True
        finally:
            os.close(descriptor)

    def _place(self, source: str, name: str) -> None:
        """Gives a whole file its name, adds it to the total, and makes room if it is needed."""
        path = f"{self.folder}/{name}"
        grown = os.stat(source).st_size - (_size(path) or 0)
        os.rename(source, path)
        self._add(grown)

    def _add(self, size: int) -> None:
        """Adds to the total: after the file is there, so that no count misses it."""
        try:
            total = self._total.add(size)
            if total is None or (total > self._capacity and time.time() >= self._all_kept_until):
                self.shrink()
        except OSError:
            return  # the file is there all the same; the next count corrects the total

    def _shrink(self) -> None:
        now = time.time()  # the file system's clock, to compare with its own times
        added_before = self._total.begin_count()
        held = []
        total = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name in _OWN or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not entry.name.endswith(_PART):
                    held.append((status.st_mtime, status.st_size, entry.path))
                    total += status.st_size
                elif status.st_mtime < now - _ABANDONED_SECONDS:
                    _remove_abandoned(entry.path)
        if total > self._capacity:
            total = self._evict(held, total, now - self._grace)
        self._total.end_count(total, added_before)

    def _evict(self, held: list[tuple[float, int, str]], total: int, before: float) -> int:
        """Removes a batch of files that were not asked for since `before`; returns what is left."""
        aim = self._capacity - self._capacity // _BATCH
        held.sort()
        for mtime, size, path in held:
            if total <= aim:
                break
            if mtime > before:
                # until this one may go, another count would find nothing to remove
                self._all_kept_until = mtime + self._grace
                break
            _remove(path)
            total -= size
        return total


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove(path: str) -> bool:
    """Returns whether the file was there; else another process has removed it."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _remove_abandoned(part: str) -> None:
    """Removes a file that nobody brings any more."""
    try:
        descriptor = os.open(part, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, part):
            _remove(part)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
