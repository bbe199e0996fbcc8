"""Files that were written without waiting for the disk, made durable together.

A file system that is told to sync itself takes one wait for all of them; a few files are synced one
by one, since what other programs have just written to the same disk would have to be waited for,
too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from functools import cache

from anabranch.blocks.local_errors import NOT_THERE
from anabranch.blocks.local_folders import sync_folder

__all__ = ["sync_files", "sync_one_by_one"]

_FEW = 16


def sync_files(paths: Collection[str], descriptor: int) -> None:
    """Makes files and their names durable; those that are no more are passed over.

    `descriptor` is of a file in the file system where most of them lie, opened before they were
    written. Raises OSError, also where the system could not write some file, whichever it was.
    """
    sync_file_system = None if len(paths) <= _FEW else _syncfs()
    if sync_file_system is None:
        sync_one_by_one(paths)
        return
    device = os.fstat(descriptor).st_dev
    here = {folder: _device(folder) == device for folder in {_folder(path) for path in paths}}
    sync_one_by_one([path for path in paths if not here[_folder(path)]])
    sync_file_system(descriptor)


def sync_one_by_one(paths: Collection[str]) -> None:
    """Makes files and their names durable; those that are no more are passed over."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except NOT_THERE:
            continue
        try:
            os.fsync(descriptor)
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
    """Returns what syncs the file system of a descriptor's file; None where there is no such
    call (only Linux has it).
    """
    import ctypes  # noqa: PLC0415  only who writes many files needs it

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
