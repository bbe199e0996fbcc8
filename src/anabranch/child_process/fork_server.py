"""Processes that start in milliseconds, because they are forked by one that has the libraries.

A process that reads tables needs DuckDB and pyarrow, whose import takes most of a second. So one
process, the fork server, imports a module once, and forks for each process that is to run it:

    this process ── fork server (has the libraries, reads nothing) ──forks── a process
         └───────────────────── its standard input and output ────────────────────┘

The fork server has nothing of a request, and what it forks has nothing of the request before it.
It is started when it is first needed, again if it was killed, and ends with this process. Where the
system has no descriptors of processes (Linux has), each process is started by itself.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from typing import IO, Self

from anabranch.child_process.environment import interpreter_environment

__all__ = ["INTERPRETER", "LIBRARIES", "ForkServer", "StartedProcess"]

INTERPRETER = [sys.executable, "-P", "-s", "-m", "anabranch.child_process.forking"]
"""The command of a fork server. In servers of tests it is another: `testing.forked_libraries`."""
LIBRARIES = {
    # Arrow's own allocator reserves 1 GiB at once, which a limit of memory counts
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",  # threads are not forked
}
"""Variables that the libraries of tables read when they are imported."""


class StartedProcess:
    """A process and the pipes to its standard input and output; it is killed at the end of the
    context. It ends as well when this process has ended, which holds its lifeline.
    """

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], lifeline: int) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self._lifeline = lifeline

    def kill(self) -> None:
        """Kills it with SIGKILL, unless it has ended."""
        raise NotImplementedError

    def _wait(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._wait()
        os.close(self._lifeline)
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


class _Forked(StartedProcess):
    """A grandchild of this process, which has a descriptor of it."""

    def __init__(
        self, stdin: IO[bytes], stdout: IO[bytes], lifeline: int, *, descriptor: int
    ) -> None:
        super().__init__(stdin, stdout, lifeline)
        self._lock = threading.Lock()
        self._descriptor = descriptor

    def kill(self) -> None:
        if sys.platform != "linux":
            raise NotImplementedError  # see `_has_descriptors`
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def _wait(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            selector.select()
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = -1


class _Spawned(StartedProcess):
    """A child of this process."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int) -> None:
        assert process.stdin is not None  # noqa: S101  both are pipes
        assert process.stdout is not None  # noqa: S101
        super().__init__(process.stdin, process.stdout, lifeline)
        self._process = process

    def kill(self) -> None:
        self._process.kill()

    def _wait(self) -> None:
        self._process.wait()


class ForkServer:
    """Starts processes that run `main` of a module, which has `prepare` as well: see `forking`."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def start(self) -> StartedProcess:
        """Returns a process that begins to run `main`. Raises OSError if none can be started."""
        lifeline, ours = os.pipe()
        try:
            start = self._fork if _HAS_DESCRIPTORS else self._spawn
            return start(lifeline, ours)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(lifeline)

    def close(self) -> None:
        """Ends the fork server. The processes that it has forked go on."""
        with self._lock:
            self._end()

    def _spawn(self, lifeline: int, ours: int) -> StartedProcess:
        return _Spawned(
            self._interpreter("--once", descriptor=lifeline, pipe=subprocess.PIPE), ours
        )

    def _interpreter(self, *options: str, descriptor: int, pipe: int) -> subprocess.Popen[bytes]:
        """Starts an interpreter that runs `forking` with this module and a descriptor."""
        return subprocess.Popen(
            [*INTERPRETER, self._module, *options, str(descriptor)],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env=interpreter_environment() | LIBRARIES,
            pass_fds=[descriptor],
            start_new_session=True,  # Ctrl-C is for this process, which ends that one
        )

    def _fork(self, lifeline: int, ours: int) -> StartedProcess:
        their_input, our_output = os.pipe()
        our_input, their_output = os.pipe()
        with contextlib.ExitStack() as failed:
            stdin = failed.enter_context(os.fdopen(our_output, "wb"))
            stdout = failed.enter_context(os.fdopen(our_input, "rb"))
            try:
                descriptor = self._ask([their_input, their_output, lifeline])
            finally:
                os.close(their_input)
                os.close(their_output)
            failed.pop_all()
        return _Forked(stdin, stdout, ours, descriptor=descriptor)

    def _ask(self, descriptors: list[int]) -> int:
        """Returns the descriptor of a new process that has these."""
        with self._lock:
            for _ in range(2):  # the fork server may have been killed since it was last used
                connection = self._socket or self._start_server()
                with contextlib.suppress(OSError):
                    socket.send_fds(connection, [b"\0"], descriptors)
                    _, received, _, _ = socket.recv_fds(connection, 1, 1)
                    if received:
                        return received[0]
                self._end()
        raise OSError(f"the process of {self._module} cannot be started")

    def _start_server(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            self._server = self._interpreter(descriptor=theirs.fileno(), pipe=subprocess.DEVNULL)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._socket = ours
        return ours

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        self._socket = self._server = None

    def _forget(self) -> None:
        """After a fork of this process: the fork server is the parent's."""
        self._lock = threading.Lock()
        if self._socket is not None:
            self._socket.close()
        if self._server is not None:
            self._server.returncode = 0  # nothing that this process may wait for
        self._socket = self._server = None


def _has_descriptors() -> bool:
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


_HAS_DESCRIPTORS = _has_descriptors()
