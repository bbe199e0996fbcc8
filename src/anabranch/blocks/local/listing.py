"""Listing of a local store in the order of addresses, one folder at a time.

In that order the content of a folder `a` comes after `a-b` and before `a0`, so folders are sorted
with a trailing slash. Unicode strings sort like their UTF-8 bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.local.paths import QUARANTINE, SCHEME, TEMPORARY, Place

__all__ = ["walk"]


def walk(root: str, start_place: Place, after: str) -> Iterator[BlockInfo]:
    """Yields the blocks below `root` from a folder and a name's prefix, in order, after the path
    `after`.

    Holds the names of one folder per level. Symbolic links, and names that are not valid Unicode,
    are not blocks.
    """
    levels = [_Level(root, start_place.folder, start_place.name)]
    while levels:
        path = levels[-1].next()
        if path is None:
            levels.pop()
        elif path.endswith("/"):
            if path > after or after.startswith(path):
                levels.append(_Level(root, path[:-1], ""))
        elif path > after:
            info = _info(root, path)
            if info is not None:
                yield info


class _Level:
    """Remaining names of one folder."""

    __slots__ = ("_names", "_parent")

    def __init__(self, root: str, folder: str, start: str) -> None:
        self._parent = f"{folder}/" if folder else ""
        names = _names(f"{root}/{folder}" if folder else root, start)
        if not folder and f"{TEMPORARY}/" in names:
            names.remove(f"{TEMPORARY}/")
        names.sort(reverse=True)
        self._names = names

    def next(self) -> str | None:
        """Returns the next path, that of a folder with a trailing slash, or None at the end."""
        return self._parent + self._names.pop() if self._names else None


def _names(folder: str, start: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
                for entry in entries
                if entry.name.startswith(start)
                and entry.name != QUARANTINE
                and not entry.is_symlink()
                and _is_text(entry.name)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_text(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _info(root: str, path: str) -> BlockInfo | None:
    try:
        status = os.lstat(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return None  # removed meanwhile
    if not stat.S_ISREG(status.st_mode):
        return None
    return BlockInfo(SCHEME + path, status.st_size, int(status.st_mtime))
