"""Servers for tests that start in a fraction of the time: forked by a process that has imported the
server, where `running_server` else starts an interpreter for each of them.

A test run starts hundreds of servers, and most of what each one costs is the import of a thousand
modules. The process that forks them opens nothing itself, has one thread, and ends with the process
that uses it, however that ends, and its servers with it. A server that it forks has the
environment, the working folder and the streams that it is given, and nothing of the servers before.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from anabranch.child_process.end_with_parent import end_with_parent
from anabranch.testing.exits import exit_after
from anabranch.testing.forked_libraries import share_libraries
from anabranch.testing.forked_programs import prepare_to_fork

__all__ = ["ForkedServer", "fork_server"]

_MODULES = (
    "anabranch.cli.main",
    "anabranch.cli.commands.servers.serve",
    "anabranch.server.serve",
    "anabranch.server.config.loader",
    "encodings.idna",
    "uvicorn.lifespan.off",
    "uvicorn.loops.auto",
)
_DRAIN_SECONDS = 0.01
_PID = struct.Struct("<q")


class ForkedServer:
    """A server's process, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, descriptor: int, status: int, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._descriptor = descriptor
        self._status = status

    def poll(self) -> int | None:
        """Returns the exit status, negative for a signal, or None while it runs."""
        return self._result(0)

    def wait(self, timeout: float | None = None) -> int:
        """Returns the exit status when it has ended. Raises subprocess.TimeoutExpired after
        `timeout` seconds.
        """
        result = self._result(timeout)
        if result is None:
            raise subprocess.TimeoutExpired(["anabranch", "serve"], timeout or 0.0)
        return result

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if sys.platform != "linux":
            raise NotImplementedError  # see `testing.server`
        if self.poll() is None:
            signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """Kills it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def _result(self, timeout: float | None) -> int | None:
        if self.returncode is None and self._has_status(timeout):
            message = os.read(self._status, _PID.size)
            # without a message, the process that forked it was killed
            status = _PID.unpack(message)[0] if message else signal.SIGKILL
            self.returncode = os.waitstatus_to_exitcode(status)
            os.close(self._status)
            os.close(self._descriptor)
        return self.returncode

    def _has_status(self, timeout: float | None) -> bool:
        waiting = select.poll()  # unlike select(), for descriptors above 1024, too
        waiting.register(self._status, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else 1000 * timeout))


class _Parent:
    """The process that forks servers; started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None

    def fork(
        self, words: Sequence[str], environment: Mapping[str, str], errors: IO[str]
    ) -> ForkedServer:
        request = json.dumps(
            {"words": list(words), "environment": dict(environment), "folder": str(Path.cwd())}
        )
        if sys.platform != "linux":
            raise NotImplementedError  # see `testing.server`
        content = os.memfd_create("request")
        os.write(content, request.encode())
        output, their_output = os.pipe()
        status, their_status = os.pipe()
        given = [content, their_output, errors.fileno(), their_status]
        try:
            with self._lock:
                connection = self._connection = self._connection or _start()
                socket.send_fds(connection, [b"\0"], given)
                message, (descriptor,), _, _ = socket.recv_fds(connection, _PID.size, 1)
        finally:
            _close(content, their_output, their_status)
        return ForkedServer(
            _PID.unpack(message)[0], descriptor, status, os.fdopen(output, encoding="utf-8")
        )


_PARENT = _Parent()


def fork_server(
    words: Sequence[str], environment: Mapping[str, str], errors: IO[str]
) -> ForkedServer:
    """Returns a process that runs `anabranch` with these words and only this environment, in the
    present working folder, and writes its standard error to `errors`.
    """
    return _PARENT.fork(words, environment, errors)


def _start() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return ours


def _read_request(connection: socket.socket) -> list[str]:
    """Forks for each request, and returns in the new process, as which it has become the requested
    one, what words its command has. Exits when the other side has ended.
    """
    if sys.platform != "linux":
        raise NotImplementedError  # see `testing.server`
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_READ)
    statuses: dict[int, tuple[int, int]] = {}  # by descriptor: process, descriptor of its status
    while True:
        for key, _ in selector.select():
            if key.fileobj is not connection:
                selector.unregister(key.fd)
                _report(key.fd, *statuses.pop(key.fd))
                continue
            data, given, _, _ = socket.recv_fds(connection, 1, 4)
            if not data:
                sys.exit()
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                end_with_parent(parent)
                selector.close()
                connection.close()
                _close(*statuses, *(status for _, status in statuses.values()))
                return _become(*given)
            process = os.pidfd_open(pid)
            socket.send_fds(connection, [_PID.pack(pid)], [process])
            *streams, status = given
            _close(*streams)
            statuses[process] = (pid, status)
            selector.register(process, selectors.EVENT_READ)


def _report(process: int, pid: int, status: int) -> None:
    """Sends the exit status of a process that has ended, and forgets it."""
    with contextlib.suppress(BrokenPipeError):
        os.write(status, _PID.pack(os.waitpid(pid, 0)[1]))
    _close(process, status)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _become(content: int, output: int, errors: int, status: int) -> list[str]:
    """Makes this process the requested one; returns its words."""
    with open(content, "rb") as file:
        file.seek(0)
        request = json.load(file)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    _close(output, errors, status)
    # those of the parent may be at a position of a file
    sys.stdout, sys.stderr = _text(1, "strict"), _text(2, "backslashreplace")
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # what was found by the environment of the other process
    os.chdir(request["folder"])
    words: list[str] = request["words"]
    return words


def _text(descriptor: int, errors: str) -> IO[str]:
    return io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", errors)


def _main() -> None:
    prepare_to_fork(_MODULES)
    share_libraries()
    # a server that stops waits for connections that come meanwhile: hundreds of tests do not
    vars(sys.modules["anabranch.server.serve"])["DRAIN_SECONDS"] = _DRAIN_SECONDS
    words = _read_request(socket.socket(fileno=int(sys.argv[1])))
    sys.argv[:] = ["anabranch", *words]
    exit_after(lambda: sys.exit(sys.modules["anabranch.cli.main"].main(words)))


if __name__ == "__main__":
    _main()
