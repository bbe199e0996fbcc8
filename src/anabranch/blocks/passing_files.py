"""Files for which the disk has no room: in memory, for as long as somebody has them open.

A file is given out as a path of this process's own (`/proc/self/fd/7`), which is good for some
seconds: time enough to open it. What is open, or mapped, goes on being there afterwards.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["PassingFiles", "is_full"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def is_full(error: OSError) -> bool:
    """Returns whether an error says that there is no place for what was to be written."""
    return error.errno in _FULL


class PassingFiles:
    """Files in memory, each given out for `grace_seconds`."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._lock = threading.Lock()
        self._given: deque[tuple[float, int]] = deque()

    def bring(self, name: str, fill: Callable[[int], None], check: Callable[[str], None]) -> str:
        """Returns the path of a new file: `fill` writes it to a descriptor, `check` looks at it.
        When either raises, nothing stays.
        """
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
            while self._given and self._given[0][0] < now - self._grace:
                os.close(self._given.popleft()[1])
            self._given.append((now, descriptor))
        return path
