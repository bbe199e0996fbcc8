"""The writer lock: a fair file lock by which processes write one database in turn.

With SQLite's own lock, a process that finds the database locked sleeps and tries again, so it
starves for seconds while another writes without pause. Two empty files next to the database avoid
this: a process holds the lock of the outer file while it waits for the lock of the inner one, so a
process that has just written queues behind those that already wait. The operating system releases
the locks of a process that dies.
"""

from __future__ import annotations

import fcntl
import os
import time

from anabranch.errors import Busy

__all__ = ["WriterLock"]

_RETRY_SECONDS = 0.002


class WriterLock:
    """The lock that a process takes to write the database at `path`.

    Excludes other processes, and other stores of this process, but not the threads that share this
    object.
    """

    def __init__(self, path: str) -> None:
        self._outer = os.open(path + "-queue", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._inner = os.open(path + "-turn", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            os.close(self._outer)
            raise

    def acquire(self) -> None:
        """Takes the lock; waits for it without a limit."""
        fcntl.flock(self._outer, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._inner, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._outer, fcntl.LOCK_UN)

    def try_acquire(self) -> bool:
        """Takes the lock if no other process holds it or waits for it; returns whether it did."""
        try:
            fcntl.flock(self._outer, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._inner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._outer, fcntl.LOCK_UN)
        return True

    def acquire_within(self, seconds: float) -> None:
        """Takes the lock, polling for it. Raises Busy after `seconds`."""
        deadline = time.monotonic() + seconds
        while not self.try_acquire():
            if time.monotonic() > deadline:
                raise Busy("the database is locked by another process", kind="locked")
            time.sleep(_RETRY_SECONDS)

    def release(self) -> None:
        """Releases the lock to the next waiting process."""
        fcntl.flock(self._inner, fcntl.LOCK_UN)

    def close(self) -> None:
        """Closes the files, which releases the lock unless a forked process has them open."""
        os.close(self._outer)
        os.close(self._inner)
