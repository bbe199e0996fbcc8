"""The end of a process that was forked with a thousand modules, without taking them down.

An interpreter that ends visits every object of its modules, which copies the memory that it shares
with the process that has forked it: five times the processor time that a short command needs
otherwise. What a program can rely on at its end is done here as Python does it: threads are waited
for, functions of `atexit` are called, and the streams are flushed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

__all__ = ["exit_after"]

_FAILED = 1
_CANNOT_FLUSH = 120


def exit_after(work: Callable[[], object]) -> NoReturn:
    """Calls `work`, and ends this process with the status that Python gives a program of it."""
    status = _status_after(work)
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  as multiprocessing does
    atexit._run_exitfuncs()  # noqa: SLF001
    if not _flush():
        status = _CANNOT_FLUSH
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _status_after(work: Callable[[], object]) -> int:
    """Returns the exit status, negative for a signal."""
    try:
        work()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        sys.stderr.write(f"{end.code}\n")
        return _FAILED
    except BaseException as error:  # noqa: BLE001  as an interpreter does
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else _FAILED
    return 0


def _flush() -> bool:
    """Flushes the standard streams. Returns whether all that was printed is written."""
    written = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:
            written = False
            if stream is not sys.stderr:
                sys.stderr.write(f"Exception ignored at the end: {error!r}\n")
    return written
