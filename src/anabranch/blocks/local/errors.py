"""Translation of errors of a file system."""

from __future__ import annotations

import errno

from anabranch.errors import AnabranchError, Busy, Gone, Invalid

__all__ = ["NOT_THERE", "gone_error", "translate_error"]

NOT_THERE = (FileNotFoundError, NotADirectoryError)
"""What opening a missing file raises."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLASH = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})


def gone_error(address: str) -> Gone:
    """Returns the error for a block that does not exist."""
    return Gone(f"{address}: there is no data", kind="data_missing")


def translate_error(error: OSError, address: str) -> AnabranchError:
    """Returns the error that corresponds to one of reading or writing a block."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return Busy(f"{address}: {reason}", kind="disk_full", hint="Free space on the disk.")
    if error.errno in _CLASH:
        return Invalid(
            f"{address}: a block's name is also the name of a folder on this path",
            kind="name_clash",
        )
    if error.errno == errno.ENAMETOOLONG:
        return Invalid(f"{address}: {reason}", kind="invalid_address")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return Busy(f"{address}: {reason}", kind="too_many_files")
    return Busy(f"{address}: {reason}", kind="storage_failed", hint="Check the disk.")
