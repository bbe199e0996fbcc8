"""Private folders, which only the server's user may read: for objects, metadata and keys."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["make_private_folder"]


def make_private_folder(folder: str | os.PathLike[str]) -> None:
    """Creates a folder and its missing parents so that other users cannot enter them, whatever the
    umask; does not change existing folders. Raises OSError.
    """
    path = Path(folder)
    if path.is_dir():
        return
    make_private_folder(path.parent)
    with suppress(FileExistsError):  # created meanwhile, or a file, which is reported below
        path.mkdir(mode=0o700)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
