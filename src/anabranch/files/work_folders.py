"""Work folders: temporary folders that are removed even if their process is killed.

A killed process leaves its temporary folders behind, which may hold gigabytes. So each process that
uses a work folder holds a shared lock on a file in it, and when a process creates its first work
folder, it removes those in the same parent folder whose lock is free: the operating system releases
the locks of a process however it ends.

Not removed are folders of other users, folders whose lock file was written on another host (a
shared file system may not show the locks of other hosts), and folders without a lock file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

__all__ = ["WorkFolder", "hold", "remove_abandoned"]

_PREFIX = "anabranch-"
_LOCK = ".in-use"
_MAX_ATTEMPTS = 10
_HOST_BYTES = 1024
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

_swept: set[tuple[int, str]] = set()
"""The pairs of a process id and a parent folder where abandoned folders have been removed."""


class WorkFolder:
    """A new temporary folder `path`, whose name begins with `anabranch-` and `kind`, and which only
    this user may enter. It is removed by `close`, or when this object is garbage-collected. As a
    context manager, it returns the path as text. Raises OSError.
    """

    def __init__(self, kind: str) -> None:
        parent = tempfile.gettempdir()
        if (os.getpid(), parent) not in _swept:
            _swept.add((os.getpid(), parent))
            remove_abandoned(parent)
        for _ in range(_MAX_ATTEMPTS):
            self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=parent))
            try:
                lock = _create_lock(self.path)
            except FileNotFoundError:  # another process is checking whether it is abandoned
                shutil.rmtree(self.path, ignore_errors=True)
            else:
                self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())
                return
        raise FileNotFoundError(f"{parent}: another process removes new folders at once")

    def close(self) -> None:
        """Removes the folder; a second call does nothing."""
        self._remove()

    def __enter__(self) -> str:
        return str(self.path)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def hold(folder: str | os.PathLike[str]) -> None:
    """Prevents the work folder of another process from being removed as abandoned until this
    process ends. Raises OSError if the folder has been removed already.
    """
    path = Path(folder, _LOCK)
    if path.parent.is_dir() and not path.exists():
        return  # on a file system without locks
    _lock_shared(os.open(path, os.O_RDWR | os.O_NOFOLLOW))


def remove_abandoned(parent: str) -> None:
    """Removes the work folders in a parent folder that no process of this host uses any more.
    Ignores errors.
    """
    try:
        folders = [path for path in Path(parent).iterdir() if path.name.startswith(_PREFIX)]
    except OSError:
        return
    for folder in folders:
        with suppress(OSError):
            _remove_if_abandoned(folder)


def _remove(folder: Path, lock: int | None, owner: int) -> None:
    """Removes a folder of the process with the id `owner`; does nothing in a child process."""
    if os.getpid() != owner:
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _empty(descriptor)  # the lock is removed last, so that an interrupted removal is found
        finally:
            os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _create_lock(folder: Path) -> int | None:
    """Creates and locks the lock file of a new folder, and returns its descriptor; None on a file
    system without locks, where no lock file is left, so that no process removes the folder. Raises
    FileNotFoundError if the folder was removed meanwhile.
    """
    path = folder / _LOCK
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        _lock_shared(lock)
        path.lstat()  # a removal may have come first
        os.write(lock, _host_name())
    except BaseException as error:
        os.close(lock)
        if isinstance(error, OSError) and error.errno in _NO_LOCKS:
            path.unlink()
            return None
        raise
    return lock


def _lock_shared(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileNotFoundError("the folder is being removed") from error


def _remove_if_abandoned(folder: Path) -> None:
    """Removes a folder if its lock is free. Raises OSError if it is in use or has no lock file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW, dir_fd=descriptor)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(lock, folder / _LOCK) and os.pread(lock, _HOST_BYTES, 0) == _host_name():
                _empty(descriptor)
                # last: an interrupted removal must leave a folder that is still found abandoned
                os.unlink(_LOCK, dir_fd=descriptor)
                folder.rmdir()
        finally:
            os.close(lock)
    finally:
        os.close(descriptor)


def _empty(folder: int) -> None:
    """Removes everything except the lock file from an open folder."""
    for name in os.listdir(folder):
        if name == _LOCK:
            continue
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _is_at(descriptor: int, path: Path) -> bool:
    """Returns whether an open file is the file at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _host_name() -> bytes:
    return socket.gethostname().encode()[:_HOST_BYTES]
