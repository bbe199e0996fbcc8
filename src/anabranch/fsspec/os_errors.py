"""Errors as a file system has them."""

from __future__ import annotations

import errno
import os
from types import TracebackType

from anabranch.errors import AnabranchError, Denied, NotFound, PreconditionFailed

__all__ = ["os_errors", "to_os_error"]

_NUMBERS: dict[type[AnabranchError], int] = {
    NotFound: errno.ENOENT,
    Denied: errno.EACCES,
    PreconditionFailed: errno.EEXIST,
}


def to_os_error(error: Exception, path: str) -> Exception:
    """Returns FileNotFoundError, PermissionError or FileExistsError for what stands for it, and
    other errors unchanged.
    """
    for kind, number in _NUMBERS.items():
        if isinstance(error, kind):
            found = OSError(number, os.strerror(number), path)
            found.__cause__ = error
            return found
    return error


class os_errors:  # noqa: N801  used like a function: `with os_errors(path):`
    """Context manager that raises errors as `to_os_error` returns them."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, AnabranchError):
            found = to_os_error(error, self._path)
            if found is not error:
                raise found from error
