"""Removal of the temporary files of killed processes in a local store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.table_addresses import TABLES

__all__ = ["remove_leftovers"]

_UNFINISHED_TABLE = re.compile(r"\.[0-9a-f]{64}\.\d+\.\d+\.tmp")
"""Name that the kernel gives an unfinished table."""


def remove_leftovers(root: str, before: float) -> int:
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
            continue  # its writer has completed it
    return removed


def _leftovers(root: str) -> Iterator[str]:
    yield from _files(f"{root}/{TEMPORARY}")
    folders = [root]
    while folders:
        folder = folders.pop()
        children = _folders(folder)
        if TABLES in children:
            # the namespace of a repository: other folders in it have objects alone
            for path in _files(f"{folder}/{TABLES}"):
                if _UNFINISHED_TABLE.fullmatch(path.rpartition("/")[2]):
                    yield path
        else:
            folders.extend(f"{folder}/{name}" for name in children if name != TEMPORARY)


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
