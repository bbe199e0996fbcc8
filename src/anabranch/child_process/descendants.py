"""All processes that a process has started, those too that have left its group and session."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["children", "descendants", "has_ended", "kill_descendants"]

_MAX_ROUNDS = 100


def kill_descendants(pid: int) -> None:
    """Stops a process that adopts its orphans, as one with a `Parent` does, and kills all its
    descendants. Does nothing except on Linux, and for a process that has ended.
    """
    if sys.platform != "linux":
        return
    _signal(pid, signal.SIGSTOP)
    for _ in range(_MAX_ROUNDS):  # one that is killed may have started another one before
        living = [child for child in descendants(pid) if not has_ended(child)]
        if not living:
            return
        for child in living:
            _signal(child, signal.SIGKILL)


def descendants(pid: int) -> Iterator[int]:
    """Returns the ids of the processes that a process has started, and that these have started, as
    Linux lists them. Each of them may end at any time.
    """
    for child in children(pid):
        yield child
        yield from descendants(child)


def children(pid: int) -> list[int]:
    """Returns the ids of the processes that a process has started, as Linux lists them, and none
    if it has ended.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process ends
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # one thread ends; others have children, too
                found += map(int, (thread / "children").read_text().split())
    return found


def has_ended(pid: int) -> bool:
    """Returns whether a process has ended, also if its parent has not asked for its exit status, as
    Linux says.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
