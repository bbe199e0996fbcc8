"""Copies bytes from file to file in a local store, in the kernel where it can."""

from __future__ import annotations

import errno
import hashlib
import os

from anabranch.blocks.local_errors import gone, translate
from anabranch.blocks.local_files import NewFile
from anabranch.blocks.local_pieces import PIECE_BYTES

__all__ = ["copy_bytes", "md5_of"]

_UNABLE = frozenset({errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def copy_bytes(source: int, start: int, length: int, file: NewFile, address: str) -> None:
    """Appends so many bytes of a descriptor to a new file, sharing their disk space where the
    file system can. Raises Gone where there are fewer.
    """
    at, end = start, start + length
    try:
        at += _copy_in_kernel(source, start, length, file.descriptor)
        while at < end:
            piece = os.pread(source, min(end - at, PIECE_BYTES), at)
            if not piece:
                raise gone(address)
            file.write(piece)
            at += len(piece)
    except OSError as error:
        raise translate(error, address) from error


def md5_of(source: int, start: int, length: int) -> str:
    """Returns the hex MD5 of so many bytes of a descriptor."""
    digest = hashlib.md5(usedforsecurity=False)
    at, end = start, start + length
    while at < end and (piece := os.pread(source, min(end - at, PIECE_BYTES), at)):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()


def _copy_in_kernel(source: int, start: int, length: int, target: int) -> int:
    """Returns how many bytes were copied before the kernel would not go on."""
    if not hasattr(os, "copy_file_range"):
        return 0
    at = 0
    while at < length:
        try:
            copied = os.copy_file_range(source, target, length - at, offset_src=start + at)
        except OSError as error:
            if error.errno in _UNABLE:
                break
            raise
        if copied == 0:
            break
        at += copied
    return at
