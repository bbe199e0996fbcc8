"""What the errors of a file system mean for a block store."""

from __future__ import annotations

import errno

from anabranch.errors import AnabranchError, Busy, Gone, Invalid

__all__ = ["NOT_THERE", "gone", "translate"]

NOT_THERE = (FileNotFoundError, NotADirectoryError)
"""What opening a file raises where there is none: its name or a folder of its path is missing."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLASH = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})


def gone(address: str) -> Gone:
    """Returns the error of a block that is not there."""
    return Gone(f"{address}: there is no data", kind="data_missing")


def translate(error: OSError, address: str) -> AnabranchError:
    """Returns an error met while writing or reading a block as one of ours."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return Busy(f"{address}: {reason}", kind="disk_full", hint="Make room on the disk.")
    if error.errno in _CLASH:
        return Invalid(
            f"{address}: a block's name is also the name of a folder on this path",
            kind="name_clash",
        )
    if error.errno == errno.ENAMETOOLONG:
        return Invalid(f"{address}: {reason}", kind="invalid_address")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return Busy(f"{address}: {reason}", kind="too_many_files")
    return Busy(f"{address}: {reason}", kind="storage_failed", hint="Look at the disk.")
