"""Files kept in a folder up to a number of bytes, for all processes of a machine.

The folder itself is the only state: a file has its name when it is whole, its time of change says
when it was last asked for, and what is being brought is locked by who brings it. A process that is
killed therefore leaves nothing wrong.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["CachedFiles"]

_PART = ".part"
_LOCK = "lock"
_ABANDONED_SECONDS = 3_600.0


class CachedFiles:
    """The files of `folder`, at most `capacity_bytes` of them; more than that go, least recently
    asked for first.

    A file asked for within `grace_seconds` stays even beyond the capacity, so that who was given
    its path can open it. An open file may be removed: it is read on as if it were there.
    """

    def __init__(
        self, folder: str | os.PathLike[str], capacity_bytes: int, grace_seconds: float
    ) -> None:
        self.folder = str(Path(folder).resolve())
        os.makedirs(self.folder, exist_ok=True)
        self._capacity = capacity_bytes
        self._grace = grace_seconds

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
            if path is None and self._bring(name, fill, check):
                self.shrink()
                path = self.find(name)
            if path is not None:
                return path

    def take(self, source: str, name: str) -> None:
        """Moves a whole file of the same file system here."""
        os.rename(source, f"{self.folder}/{name}")
        os.utime(f"{self.folder}/{name}")

    def shrink(self) -> None:
        """Removes what exceeds the capacity, unless another process is at that."""
        lock = os.open(f"{self.folder}/{_LOCK}", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._shrink()
        except BlockingIOError:
            return
        finally:
            os.close(lock)

    def _bring(self, name: str, fill: Callable[[int], None], check: Callable[[str], None]) -> bool:
        """Returns whether the file was made, by this caller; else it is time to look again."""
        part = f"{self.folder}/{name}{_PART}"
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, part):
                return False  # who had the lock has finished the file, or given it up
            try:
                os.ftruncate(descriptor, 0)
                fill(descriptor)
                os.fdatasync(descriptor)
                check(part)
                os.rename(part, f"{self.folder}/{name}")
            except BaseException:
                _remove(part)
                raise
            return True
        finally:
            os.close(descriptor)

    def _shrink(self) -> None:
        now = time.time()  # the file system's clock, to compare with its own times
        held = []
        total = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name == _LOCK or not entry.is_file(follow_symlinks=False):
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
        held.sort()
        for mtime, size, path in held:
            if total <= self._capacity or mtime > now - self._grace:
                break
            _remove(path)
            total -= size


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return  # another process was first


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
