"""The folders of a local store: made so that they survive a loss of power, and no links.

What a block's address names must lie inside the root. Addresses cannot lead out of it, symbolic
links could; so a folder is used only after every name on its path has been seen to be no link.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from anabranch.errors import Invalid

__all__ = ["LocalFolders", "make_durable", "sync_folder"]

_REMEMBERED = 10_000


class LocalFolders:
    """The folders below a root. Remembers which it has seen, so a look costs nothing."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: set[str] = set()
        self._durable: set[str] = set()

    def path(self, folder: str) -> str:
        """Returns the path of a folder, there or not. Raises Invalid for one behind a link."""
        path = f"{self._root}/{folder}" if folder else self._root
        if folder and folder not in self._seen and self._look(folder):
            _remember(self._seen, folder)
        return path

    def make(self, folder: str) -> str:
        """Makes a folder and those above it, where missing, and returns its path.

        Whoever made a folder, it is durable when this returns. Raises Invalid for one behind a
        link, OSError where it cannot be made.
        """
        path = self.path(folder)
        if folder and folder not in self._durable:
            names = folder.split("/")
            for depth in range(1, len(names) + 1):
                above = "/".join(names[:depth])
                if above not in self._durable:
                    make_durable(f"{self._root}/{above}")
                    _remember(self._durable, above)
            self.path(folder)
        return path

    def forget(self) -> None:
        """Forgets what was seen, after somebody has removed a folder."""
        self._seen.clear()
        self._durable.clear()

    def _look(self, folder: str) -> bool:
        """Returns whether the folder is there; raises Invalid for a link on the way to it."""
        path = self._root
        for name in folder.split("/"):
            path = f"{path}/{name}"
            try:
                mode = os.lstat(path).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return False
            if stat.S_ISLNK(mode):
                raise Invalid(
                    f"{path}: a symbolic link, which the store does not follow",
                    kind="invalid_address",
                )
        return True


def make_durable(path: str, mode: int = 0o700) -> None:
    """Makes a folder, if it is not there, in one that is, and syncs its name to the disk. Only the
    server's user may enter it unless another mode is given.
    """
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    sync_folder(str(Path(path).parent))


def sync_folder(path: str) -> None:
    """Syncs the names in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remember(folders: set[str], folder: str) -> None:
    if len(folders) >= _REMEMBERED:
        folders.clear()
    folders.add(folder)
