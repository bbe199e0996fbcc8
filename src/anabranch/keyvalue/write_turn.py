"""The turn to write: processes that write one database take it one after another, in order.

SQLite lets a process that finds the database locked sleep and try again, which starves it for
seconds while another writes without pause. Two empty files beside the database mend that, as two
doors in a row do: who wants to write waits at the first for the second, so who has just written
comes after whoever already waits. The kernel opens a door whose holder dies.
"""

from __future__ import annotations

import fcntl
import os
import time

from anabranch.errors import Busy

__all__ = ["WriteTurn"]

_PAUSE_SECONDS = 0.002


class WriteTurn:
    """One process's place among those that write the database at `path`.

    Orders processes, and stores within one, but not the threads that share this object.
    """

    def __init__(self, path: str) -> None:
        self._outer = os.open(path + "-queue", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._inner = os.open(path + "-turn", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            os.close(self._outer)
            raise

    def take(self) -> None:
        """Waits for the turn, however long that takes."""
        fcntl.flock(self._outer, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._inner, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._outer, fcntl.LOCK_UN)

    def try_take(self) -> bool:
        """Takes the turn if nobody has it or waits for it; returns whether."""
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

    def take_within(self, seconds: float) -> None:
        """Takes the turn, trying again and again. Raises Busy when the time is over."""
        end = time.monotonic() + seconds
        while not self.try_take():
            if time.monotonic() > end:
                raise Busy("the database is locked by another process", kind="locked")
            time.sleep(_PAUSE_SECONDS)

    def release(self) -> None:
        """Gives the turn to whoever waits."""
        fcntl.flock(self._inner, fcntl.LOCK_UN)

    def close(self) -> None:
        """Releases the files; the turn with them, unless a forked process still has them open."""
        os.close(self._outer)
        os.close(self._inner)
