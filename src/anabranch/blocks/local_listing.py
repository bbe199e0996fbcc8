"""Walks through a local store in the order of addresses, a folder at a time.

In that order what lies in the folder `a` comes after `a-b` and before `a0`: a folder stands among
its neighbours with a slash behind its name. Strings of Unicode are ordered as their UTF-8 bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.local_paths import SCHEME, TEMPORARY, Place

__all__ = ["walk"]


def walk(root: str, beginning: Place, after: str) -> Iterator[BlockInfo]:
    """Yields the blocks below `root` whose path begins so, in order, after the path `after`.

    Holds the names of one folder at each depth. Links, and names that are no Unicode, are no
    blocks.
    """
    levels = [_Level(root, beginning.folder, beginning.name)]
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
    """What is still to be visited of one folder."""

    __slots__ = ("_names", "_parent")

    def __init__(self, root: str, folder: str, start: str) -> None:
        self._parent = f"{folder}/" if folder else ""
        names = _names(f"{root}/{folder}" if folder else root, start)
        if not folder and f"{TEMPORARY}/" in names:
            names.remove(f"{TEMPORARY}/")
        names.sort(reverse=True)
        self._names = names

    def next(self) -> str | None:
        """Returns the next path, a folder's with a slash behind it, or None at the end."""
        return self._parent + self._names.pop() if self._names else None


def _names(folder: str, start: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
                for entry in entries
                if entry.name.startswith(start) and not entry.is_symlink() and _is_text(entry.name)
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
