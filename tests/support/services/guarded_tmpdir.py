"""A folder for a server that a test runs, which goes when the test's process does.

A test that is killed cleans nothing up. So a keeper, a process of its own, waits until the test's
process is gone, however that came to its end; then it kills what still runs over the folder and
removes it. Should the keeper be killed too, the next who makes such a folder removes what was left:
both hold a lock on it, and an unlocked one has no owner.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["PREFIX", "kept_folder"]

PREFIX = "anabranch-kept-"
"""The prefix of the names of these folders."""

_PLACES = ("/tmp", "/var/tmp")
_END_SECONDS = 60
_PAUSE_SECONDS = 0.05
_FOR_ALL = 0o001


@contextmanager
def kept_folder() -> Iterator[Path]:
    """Gives a new folder, to whose place every user has a way; ends what runs over it and removes
    it afterwards, or when this process is no more.
    """
    place = _place()
    turn = _lock(place, wait=True)
    try:
        _sweep(place)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        lock = _lock(folder, wait=True)
    finally:
        os.close(turn)
    keeper = subprocess.Popen(
        [sys.executable, "-I", __file__, folder],
        stdin=subprocess.PIPE,
        pass_fds=(lock,),
        start_new_session=True,  # what is sent to all processes of a terminal does not reach it
    )
    try:
        yield folder
    finally:
        keeper.communicate()
        os.close(lock)


def _place() -> Path:
    """Returns the first place for passing things that every user can get to."""
    for name in (tempfile.gettempdir(), *_PLACES):
        place = Path(name).resolve()
        if all(each.stat().st_mode & _FOR_ALL for each in (place, *place.parents)):
            return place
    raise FileNotFoundError(f"of {_PLACES}, none can be entered by all")


def _sweep(place: Path) -> None:
    """Removes the folders that have no owner any more."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            lock = _lock(folder, wait=False)
        except OSError:  # owned, or another user's, or already gone
            continue
        _remove(folder)
        os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int:
    """Returns a descriptor that holds the lock on a folder until it is closed by all who have it.
    Raises OSError when that is another's and we do not wait.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(folder: Path) -> None:
    """Kills what runs over a folder, and removes it."""
    deadline = time.monotonic() + _END_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        for process in _processes(folder):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGQUIT)  # PostgreSQL takes its own processes along
        if not _processes(folder):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            time.sleep(_PAUSE_SECONDS)


def _processes(folder: Path) -> list[int]:
    """Returns the processes that were started with this folder among their words."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                int(entry.name) != os.getpid()
                and os.fsencode(folder) in (entry / "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    sys.stdin.read()
    _remove(Path(sys.argv[1]))
