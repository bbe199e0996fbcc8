"""Anonymous files in memory, for when the disk is full.

A file has a path in this process (`/proc/self/fd/7`) that is valid for some seconds, in which the
caller opens it. A file that is open or mapped persists until it is closed.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["MemfdFiles", "is_full"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def is_full(error: OSError) -> bool:
    """Returns whether an error means that there is no space to write to."""
    return error.errno in _FULL


class MemfdFiles:
    """Files in memory whose paths are valid for `grace_seconds`."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._lock = threading.Lock()
        self._valid: deque[tuple[float, int]] = deque()

    def materialize(
        self, name: str, fill: Callable[[int], None], check: Callable[[str], None]
    ) -> str:
        """Returns the path of a new file: `fill` writes it to a descriptor, `check` verifies it. If
        either raises, the file is removed. Raises OSError where the system has no such files, as
        macOS.
        """
        if not hasattr(os, "memfd_create"):
            raise OSError(errno.ENOSPC, "no space, and no files in memory on this system", name)
        descriptor = os.memfd_create(name)
        path = f"/proc/self/fd/{descriptor}"
        try:
            fill(descriptor)
            check(path)
        except BaseException:
            os.close(descriptor)
            raise
        now = time.monotonic()
        with self._lock:
            while self._valid and self._valid[0][0] < now - self._grace:
                os.close(self._valid.popleft()[1])
            self._valid.append((now, descriptor))
        return path
