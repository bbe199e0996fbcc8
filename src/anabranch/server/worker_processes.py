"""Several processes that serve one address: started, started anew when one dies, stopped together.

Each has a listening socket of its own on the same port, and the system spreads connections over
them (SO_REUSEPORT); on one shared socket, whichever process wakes first takes a whole burst. The
parent keeps every socket open, so that connections wait while a process is replaced.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

__all__ = ["CANNOT_START", "supervise"]

CANNOT_START = 3
"""The exit status of a process for which starting again would be in vain."""

STOP_SECONDS = 15
PAUSE_SECONDS = 0.5

_log = logging.getLogger(__name__)
_context = multiprocessing.get_context("spawn")

Work = Callable[[socket.socket], None]


def supervise(work: Work, sockets: Sequence[socket.socket]) -> None:
    """Runs `work`, which must be picklable, in a process for each socket, until a signal to stop
    or until one cannot start.
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    processes = [_start(work, listening) for listening in sockets]
    while not stopping.is_set():
        wait([process.sentinel for process in processes], timeout=PAUSE_SECONDS)
        for index, process in enumerate(processes):
            if process.is_alive() or stopping.is_set():
                continue
            if process.exitcode == CANNOT_START:
                stopping.set()
                break
            _log.error("worker %s ended with status %s", process.pid, process.exitcode)
            time.sleep(PAUSE_SECONDS)  # so that one that always dies does not take a core
            processes[index] = _start(work, sockets[index])
    _stop(processes)


def _start(work: Work, listening: socket.socket) -> SpawnProcess:
    process = _context.Process(target=work, args=(listening,))
    process.start()
    return process


def _stop(processes: Sequence[SpawnProcess]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
