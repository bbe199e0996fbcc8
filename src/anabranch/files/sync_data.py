"""Syncs of one file that is open."""

from __future__ import annotations

import errno
import fcntl
import os

__all__ = ["sync_data", "sync_file"]

_NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOTTY})


def sync_data(descriptor: int) -> None:
    """Makes a file's content durable, and of its attributes those that reading needs."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        sync_file(descriptor)


def sync_file(descriptor: int) -> None:
    """Makes a file durable."""
    os.fsync(descriptor)
    # macOS leaves what was synced in the drive's cache, unless asked for more
    if hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
