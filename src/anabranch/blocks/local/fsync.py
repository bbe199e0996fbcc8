"""Syncs of many files that were written without fsync.

One `syncfs` makes all files of a file system durable with a single wait. A few files are synced
individually, because `syncfs` also waits for what other programs have written.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from functools import cache

from anabranch.blocks.local.errors import NOT_THERE
from anabranch.blocks.local.folders import sync_folder
from anabranch.files.sync_data import sync_file

__all__ = ["sync_files", "sync_individually"]

_MAX_INDIVIDUAL = 16


def sync_files(paths: Collection[str], descriptor: int) -> None:
    """Makes files and their names durable; missing ones are ignored.

    `descriptor` is that of a file in the file system of most of them, opened before they were
    written. Raises OSError, also if the system failed to write any other file.
    """
    sync_file_system = None if len(paths) <= _MAX_INDIVIDUAL else _syncfs()
    if sync_file_system is None:
        sync_individually(paths)
        return
    device = os.fstat(descriptor).st_dev
    is_local = {folder: _device(folder) == device for folder in {_folder(path) for path in paths}}
    sync_individually([path for path in paths if not is_local[_folder(path)]])
    sync_file_system(descriptor)


def sync_individually(paths: Collection[str]) -> None:
    """Makes files and their names durable by fsync; missing ones are ignored."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except NOT_THERE:
            continue
        try:
            sync_file(descriptor)
        finally:
            os.close(descriptor)
    for folder in {_folder(path) for path in paths}:
        try:
            sync_folder(folder)
        except NOT_THERE:
            continue


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _device(folder: str) -> int | None:
    try:
        return os.stat(folder).st_dev
    except NOT_THERE:
        return None


@cache
def _syncfs() -> Callable[[int], None] | None:
    """Returns a function that calls syncfs(2) for a descriptor; None without it, it is Linux's."""
    import ctypes  # noqa: PLC0415  rarely needed

    try:
        call = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):
        return None

    def sync(descriptor: int) -> None:
        while call(descriptor) != 0:
            number = ctypes.get_errno()
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number))

    return sync
