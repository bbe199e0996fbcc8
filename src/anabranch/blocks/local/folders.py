"""Folders of a local store: created durably, and never symbolic links.

A block must be inside the root. An address cannot point outside, but a symbolic link could, so a
folder is used only after every component of its path was checked not to be a link.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from anabranch.errors import Invalid

__all__ = ["LocalFolders", "make_durable", "sync_folder"]

_MAX_CACHED = 10_000


class LocalFolders:
    """The folders below a root, with a cache of those that were checked."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._checked: set[str] = set()
        self._durable: set[str] = set()

    def path(self, folder: str) -> str:
        """Returns the path of a folder, which need not exist. Raises Invalid for one behind a
        link.
        """
        path = f"{self._root}/{folder}" if folder else self._root
        if folder and folder not in self._checked and self._check(folder):
            _cache(self._checked, folder)
        return path

    def make(self, folder: str) -> str:
        """Creates a folder with its parents and returns its path.

        All of them are durable when this returns, even those that existed. Raises Invalid for a
        folder behind a link, OSError for one that cannot be created.
        """
        path = self.path(folder)
        if folder and folder not in self._durable:
            names = folder.split("/")
            for depth in range(1, len(names) + 1):
                above = "/".join(names[:depth])
                if above not in self._durable:
                    make_durable(f"{self._root}/{above}")
                    _cache(self._durable, above)
            self.path(folder)
        return path

    def clear_cache(self) -> None:
        """Clears the cache, after a folder was removed."""
        self._checked.clear()
        self._durable.clear()

    def _check(self, folder: str) -> bool:
        """Returns whether the folder exists. Raises Invalid for a link on its path."""
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
    """Creates a folder in an existing one unless it exists, and syncs its name to the disk. By
    default only the server's user may access it.
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


def _cache(folders: set[str], folder: str) -> None:
    if len(folders) >= _MAX_CACHED:
        folders.clear()
    folders.add(folder)
