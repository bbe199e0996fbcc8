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
from multiprocessing.connection import Connection, wait

from anabranch.server.metrics import forget_process

__all__ = ["CANNOT_START", "supervise"]

CANNOT_START = 3
"""The exit status of a process for which starting again would be in vain."""

STOP_SECONDS = 15
PAUSE_SECONDS = 0.5

_log = logging.getLogger(__name__)
_context = multiprocessing.get_context("spawn")

Work = Callable[[socket.socket, Connection], None]


class _Serving:
    """One process and what it said of itself."""

    def __init__(self, work: Work, listening: socket.socket) -> None:
        self._said, says = _context.Pipe(duplex=False)
        self.process = _context.Process(target=work, args=(listening, says))
        self.process.start()
        says.close()

    def ready(self, seconds: float = 0) -> bool:
        """Tells whether it answers requests, or came to its end before it did."""
        return self._said.poll(seconds)

    def stop(self, deadline: float) -> None:
        """Asks it to stop: after its start, since before it would not finish what waits for it."""
        self.ready(max(0.0, deadline - time.monotonic()))
        self.process.terminate()

    def end(self, deadline: float) -> None:
        """Waits for its end, and forces it after the deadline."""
        self.process.join(max(0.0, deadline - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._said.close()


def supervise(work: Work, sockets: Sequence[socket.socket], announce: Callable[[], None]) -> None:
    """Runs `work`, which must be picklable, in a process for each socket, until a signal to stop
    or until one cannot start. Each sends something when it serves; then `announce` is called.
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    serving = [_Serving(work, listening) for listening in sockets]
    announced = False
    while not stopping.is_set():
        if not announced:
            announced = all(one.ready(PAUSE_SECONDS) and one.process.is_alive() for one in serving)
            if announced:
                announce()
        else:
            wait([one.process.sentinel for one in serving], timeout=PAUSE_SECONDS)
        for index, one in enumerate(serving):
            if one.process.is_alive() or stopping.is_set():
                continue
            if one.process.exitcode == CANNOT_START:
                stopping.set()
                break
            _log.error("worker %s ended with status %s", one.process.pid, one.process.exitcode)
            forget_process(one.process.pid or 0)
            time.sleep(PAUSE_SECONDS)  # so that one that always dies does not take a core
            serving[index] = _Serving(work, sockets[index])
    _stop(serving)


def _stop(serving: Sequence[_Serving]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    for one in serving:
        one.stop(deadline)
    for one in serving:
        one.end(deadline)
