"""Removes what killed processes have left in a local store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from anabranch.blocks.local_paths import TEMPORARY
from anabranch.blocks.table_addresses import TABLES

__all__ = ["clean"]

_UNFINISHED_TABLE = re.compile(r"\.[0-9a-f]{64}\.\d+\.\d+\.tmp")
"""How the kernel names a table that is not whole yet."""


def clean(root: str, before: float) -> int:
    """Removes temporary files last written before a time, in seconds since 1970; returns how
    many.
    """
    removed = 0
    for path in _leftovers(root):
        try:
            if os.lstat(path).st_mtime < before:
                os.unlink(path)
                removed += 1
        except FileNotFoundError:
            continue  # its writer has finished it
    return removed


def _leftovers(root: str) -> Iterator[str]:
    yield from _files(f"{root}/{TEMPORARY}")
    folders = [root]
    while folders:
        folder = folders.pop()
        below = _folders(folder)
        if TABLES in below:
            # a repository's namespace: below it there are objects and nothing unfinished
            for path in _files(f"{folder}/{TABLES}"):
                if _UNFINISHED_TABLE.fullmatch(path.rpartition("/")[2]):
                    yield path
        else:
            folders.extend(f"{folder}/{name}" for name in below if name != TEMPORARY)


def _files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
