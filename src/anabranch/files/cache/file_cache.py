"""LRU cache of files in a folder, shared by all processes of a machine.

The folder is the only state: a file gets its name when it is complete, its mtime is the time of its
last use, and a file that is being fetched is locked by its process. A killed process therefore
leaves the cache consistent. The total size is kept in a file (`CachedTotal`); the folder is listed
only when that exceeds the capacity, and files are then evicted in a batch.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from anabranch.files.cache.total_size import CachedTotal
from anabranch.files.private_folders import make_private_folder
from anabranch.files.sync_data import sync_data

__all__ = ["FileCache"]

_PART = ".part"
_LOCK = "lock"
_TOTAL = "total"
_OWN = frozenset({_LOCK, _TOTAL})
_ABANDONED_AFTER = 3_600.0
_EVICTED_FRACTION = 16
"""An eviction frees a sixteenth of the capacity, so that it is rarely needed."""


class FileCache:
    """The files of `folder`, of up to `capacity_bytes`. The least recently used are evicted.

    A file that was used within `grace_seconds` is kept even beyond the capacity, so that a caller
    can open its path. An evicted file that is open can still be read. The folder is created again
    if it was removed.
    """

    def __init__(
        self, folder: str | os.PathLike[str], capacity_bytes: int, grace_seconds: float
    ) -> None:
        self.folder = str(Path(folder).resolve())
        self._make_folder()
        self._capacity = capacity_bytes
        self._grace = grace_seconds
        self._total = CachedTotal(f"{self.folder}/{_TOTAL}")
        self._no_eviction_until = 0.0

    def find(self, name: str) -> str | None:
        """Returns the path of a cached file, or None."""
        path = f"{self.folder}/{name}"
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def materialize(
        self, name: str, fill: Callable[[int], None], check: Callable[[str], None]
    ) -> str:
        """Returns the path of a file, which one of all concurrent callers fetches.

        `fill` writes it to a descriptor, `check` verifies the complete file by its path. If either
        raises, the file is removed and the next caller tries.
        """
        while True:
            path = self.find(name)
            try:
                if path is None and self._fetch(name, fill, check):
                    path = self.find(name)
            except FileNotFoundError:
                if not self._restore_folder():
                    raise
            if path is not None:
                return path

    def add(self, source: str, name: str) -> None:
        """Moves a complete file of the same file system into the cache."""
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
        """Removes a file; a missing one is ignored."""
        path = f"{self.folder}/{name}"
        size = _size(path)
        if size is not None and _remove(path):
            self._change_total(-size)

    def shrink(self) -> None:
        """Counts the files and evicts those beyond the capacity, unless another process does so."""
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
        """Creates the folder if it is missing, and returns whether it was."""
        if os.path.isdir(self.folder):
            return False
        self._make_folder()
        return True

    def _fetch(self, name: str, fill: Callable[[int], None], check: Callable[[str], None]) -> bool:
        """Returns whether this caller fetched the file; if not, it must look for it again."""
        part = f"{self.folder}/{name}{_PART}"
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, part):
                return False  # the holder of the lock has completed the file, or failed
            if self.find(name) is not None:
                _remove(part)
                return False  # it was completed after this caller had looked for it
            try:
                os.ftruncate(descriptor, 0)
                fill(descriptor)
                sync_data(descriptor)
                check(part)
                self._place(part, name)
            except BaseException:
                _remove(part)
                raise
            return True
        finally:
            os.close(descriptor)

    def _place(self, source: str, name: str) -> None:
        """Gives a complete file its name, adds it to the total, and evicts others if needed."""
        path = f"{self.folder}/{name}"
        grown = os.stat(source).st_size - (_size(path) or 0)
        os.rename(source, path)
        self._change_total(grown)

    def _change_total(self, size: int) -> None:
        """Adds to the total, after the file has its name, so that no count misses it."""
        try:
            total = self._total.add(size)
            if total is None or (total > self._capacity and time.time() >= self._no_eviction_until):
                self.shrink()
        except OSError:
            return  # the file is cached nevertheless; the next count corrects the total

    def _shrink(self) -> None:
        now = time.time()  # the file system's clock, to compare with its own times
        added_before = self._total.begin_count()
        files = []
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
                    files.append((status.st_mtime, status.st_size, entry.path))
                    total += status.st_size
                elif status.st_mtime < now - _ABANDONED_AFTER:
                    _remove_abandoned(entry.path)
        if total > self._capacity:
            total = self._evict(files, total, now - self._grace)
        self._total.end_count(total, added_before)

    def _evict(self, files: list[tuple[float, int, str]], total: int, before: float) -> int:
        """Evicts a batch of files that were not used since `before`; returns the remaining
        total.
        """
        target = self._capacity - self._capacity // _EVICTED_FRACTION
        files.sort()
        for mtime, size, path in files:
            if total <= target:
                break
            if mtime > before:
                # until this file may be evicted, another count would find nothing
                self._no_eviction_until = mtime + self._grace
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
    """Removes a file and returns whether it existed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _remove_abandoned(part: str) -> None:
    """Removes an incomplete file unless a process is fetching it."""
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
