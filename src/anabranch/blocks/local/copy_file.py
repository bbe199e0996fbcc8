"""Copies ranges of files in a local store, in the kernel if it supports that."""

from __future__ import annotations

import errno
import hashlib
import os

from anabranch.blocks.local.errors import gone_error, translate_error
from anabranch.blocks.local.files import NewFile
from anabranch.blocks.local.range_reader import PIECE_BYTES

__all__ = ["compute_md5", "copy_bytes"]

_UNSUPPORTED = frozenset({errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def copy_bytes(source: int, start: int, length: int, file: NewFile, address: str) -> None:
    """Appends a range of a descriptor's file to a new file, as a reflink if the file system
    supports that. Raises Gone if the file is shorter.
    """
    at, end = start, start + length
    try:
        at += _copy_in_kernel(source, start, length, file.descriptor)
        while at < end:
            piece = os.pread(source, min(end - at, PIECE_BYTES), at)
            if not piece:
                raise gone_error(address)
            file.write(piece)
            at += len(piece)
    except OSError as error:
        raise translate_error(error, address) from error


def compute_md5(source: int, start: int, length: int) -> str:
    """Returns the hex MD5 of a range of a descriptor's file."""
    digest = hashlib.md5(usedforsecurity=False)
    at, end = start, start + length
    while at < end and (piece := os.pread(source, min(end - at, PIECE_BYTES), at)):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()


def _copy_in_kernel(source: int, start: int, length: int, target: int) -> int:
    """Returns the number of bytes that the kernel copied, 0 if it cannot."""
    if not hasattr(os, "copy_file_range"):
        return 0
    at = 0
    while at < length:
        try:
            copied = os.copy_file_range(source, target, length - at, offset_src=start + at)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                break
            raise
        if copied == 0:
            break
        at += copied
    return at
