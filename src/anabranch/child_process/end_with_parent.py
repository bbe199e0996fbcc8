"""Processes that end with the one that has started them, whatever ended that."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1
"""See prctl(2). The signal is sent when the parent's thread that waits for this process ends."""


def end_with_parent(parent: int | None = None) -> None:
    """Lets Linux kill this process when its parent ends; does nothing elsewhere. `parent` is the
    process that has forked this one: if it has ended already, this one ends at once.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
