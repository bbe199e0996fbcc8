"""Folders for what only the server's user may read: objects, metadata, keys."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["make_private_folder"]


def make_private_folder(folder: str | os.PathLike[str]) -> None:
    """Makes a folder, and those above it that are missing, which other users cannot enter,
    whatever the umask; one that is there stays as it is. Raises OSError.
    """
    path = Path(folder)
    if path.is_dir():
        return
    make_private_folder(path.parent)
    with suppress(FileExistsError):  # of somebody who was faster; or a file, which is told below
        path.mkdir(mode=0o700)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
