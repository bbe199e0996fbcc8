"""Supervisor of several processes that serve one address: starts, restarts and stops them.

Each has a listening socket of its own on the same port, and the system distributes connections over
them (SO_REUSEPORT); on one shared socket, the process that wakes first accepts a whole burst. The
parent keeps all sockets open, so that connections wait while a process is replaced. If the
replacement does not start, its socket is closed, so that the other processes get the connections,
and the next one has a new socket, which accepts connections only when that process listens on it.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from anabranch.errors import Busy
from anabranch.server.observability.metrics import forget_process
from anabranch.server.process.sockets import bind_same

__all__ = ["CANNOT_START", "StopSignal", "supervise"]

CANNOT_START = 3
"""The exit status of a process that cannot start because of its stores or settings."""

STOP_SECONDS = 15
PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 15.0
MAX_FAILED_STARTS = 3
"""After how many failed starts of each process in a row the supervisor stops."""

_log = logging.getLogger(__name__)
_context = multiprocessing.get_context("spawn")

Work = Callable[[socket.socket, Connection], None]


class _Worker:
    """One of the processes, and its replacements."""

    def __init__(self, work: Work, listening: socket.socket) -> None:
        self._work = work
        self._listening = listening
        self._process: SpawnProcess | None = None
        self._ready_pipe: Connection | None = None
        self._ready = False
        self._start_at = 0.0
        self.failed_starts = 0
        self.cannot_start = False

    @property
    def serves(self) -> bool:
        """Whether it accepts connections."""
        if not self._ready and self._ready_pipe is not None and self._ready_pipe.poll():
            self._ready = self._has_reported()
        return self._ready and self._process is not None and self._process.is_alive()

    @property
    def events(self) -> list[Connection | int]:
        """Connections and handles that become readable when it starts to serve or ends."""
        if self._process is None or self._ready_pipe is None:
            return []
        pipes: list[Connection | int] = [] if self._ready else [self._ready_pipe]
        return [*pipes, self._process.sentinel]

    def update(self, now: float) -> None:
        """Updates the state of the process, and starts a replacement when it is due."""
        if self._process is not None and not self._process.is_alive():
            self._handle_exit(now)
        if self._process is None and now >= self._start_at:
            self._start()
        if self.serves:
            self.failed_starts = 0

    def close_socket(self) -> None:
        """Closes the parent's copy of its socket."""
        self._listening.close()

    def stop(self, deadline: float) -> None:
        """Sends it a signal to stop once it has started: before, it would not handle the
        connections that wait.
        """
        if self._process is None or self._ready_pipe is None:
            return
        if not self._ready:
            self._ready_pipe.poll(max(0.0, deadline - time.monotonic()))
        self._process.terminate()

    def end(self, deadline: float) -> None:
        """Waits for its end, and kills it after the deadline."""
        if self._process is None:
            return
        self._process.join(max(0.0, deadline - time.monotonic()))
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        self._ready_pipe, ready_pipe = _context.Pipe(duplex=False)
        self._ready = False
        self._process = _context.Process(target=self._work, args=(self._listening, ready_pipe))
        self._process.start()
        ready_pipe.close()

    def _handle_exit(self, now: float) -> None:
        process, ready_pipe = self._process, self._ready_pipe
        if process is None or ready_pipe is None:
            return
        served = self._ready or self._has_reported()
        self.cannot_start = process.exitcode == CANNOT_START
        _log.error("worker %s ended with status %s", process.pid, process.exitcode)
        forget_process(process.pid or 0)
        process.close()
        ready_pipe.close()
        self._process = self._ready_pipe = None
        if served:
            self.failed_starts = 0
        else:
            self.failed_starts += 1
            # bound before the old one is closed, so that no other program gets the port
            replacement = bind_same(self._listening)
            self._listening.close()
            self._listening = replacement
        pause = min(PAUSE_SECONDS * 2**self.failed_starts, MAX_PAUSE_SECONDS)
        self._start_at = now + pause

    def _has_reported(self) -> bool:
        """Returns whether it has reported that it serves. A closed pipe is readable, too, but
        raises EOFError.
        """
        try:
            return bool(
                self._ready_pipe and self._ready_pipe.poll() and self._ready_pipe.recv_bytes()
            )
        except (EOFError, OSError):
            return False


class StopSignal:
    """Whether a signal to stop has come, from now on. It is a plain attribute: a second signal can
    interrupt the handler of the first, and would wait for ever for a lock that this one holds, as
    `threading.Event.set` does.
    """

    def __init__(self) -> None:
        self.has_come = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def _receive(self, *_: object) -> None:
        self.has_come = True


def supervise(work: Work, sockets: Sequence[socket.socket], announce: Callable[[], None]) -> None:
    """Runs `work`, which must be picklable, in one process for each socket until a signal to stop,
    then closes the sockets. Each process sends a message when it serves; when all of them have,
    `announce` is called.

    A process that ends is replaced after a pause that grows with each failed start. Raises Busy if
    a process cannot start at first, or if later no process serves and none can be started.
    """
    stop = StopSignal()
    workers = [_Worker(work, listening) for listening in sockets]
    announced = False
    try:
        while not stop.has_come:
            for worker in workers:
                worker.update(time.monotonic())
            serving = sum(worker.serves for worker in workers)
            if not announced and serving == len(workers):
                announced = True
                announce()
            if _cannot_serve(workers, serving, announced=announced):
                raise Busy(
                    "the server stops: its workers cannot be started",
                    kind="workers_cannot_start",
                    hint="The log shows why each of them ended.",
                )
            wait([event for worker in workers for event in worker.events], timeout=PAUSE_SECONDS)
    finally:
        _stop(workers)


def _cannot_serve(workers: Sequence[_Worker], serving: int, *, announced: bool) -> bool:
    if not announced:
        return any(worker.cannot_start for worker in workers)
    failures = min(worker.failed_starts for worker in workers)
    return not serving and failures >= MAX_FAILED_STARTS


def _stop(workers: Sequence[_Worker]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    # closed first: otherwise the system would accept connections that no process serves
    for worker in workers:
        worker.close_socket()
    for worker in sorted(workers, key=lambda worker: not worker.serves):
        worker.stop(deadline)
    for worker in workers:
        worker.end(deadline)
