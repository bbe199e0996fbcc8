"""Programs for tests that start in a fraction of the time: forked by a process that has imported
their modules.

A small program stands for each of them. It sends its words, environment, folder and descriptors to
that process, whose fork becomes the program; it passes signals on, and ends as the fork does:

    who starts it ── the small program ── socket ── a process with the modules ──forks── the program

The process with the modules ends with the process that has started it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

__all__ = ["ForkedPrograms", "prepare_to_fork", "start_programs"]

_HEAD = 8
_STREAMS = 3
_CLIENT = """\
#!{python} -IS
import _signal, _socket, marshal, os, sys
child, early = 0, []
def forward(number, _):
    os.kill(child, number) if child else early.append(number)
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(number, forward)
name = os.path.basename(sys.argv[0])
request = marshal.dumps(([name, *sys.argv[1:]], dict(os.environ), os.getcwd()))
connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect({address!r})
given = (0, 1, 2, *map(int, sys.argv[{first_descriptor}:]))
descriptors = b"".join(each.to_bytes(4, sys.byteorder) for each in given)
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
connection.sendmsg([len(request).to_bytes(8, "big")], rights)
connection.sendall(request)
for each in given:
    os.close(each)
child = int.from_bytes(connection.recv(8), "big")
for number in early:
    os.kill(child, number)
status = int.from_bytes(connection.recv(8) or b"\\x09", "big")
if number := status & 0x7f:
    if number != _signal.SIGKILL:
        _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)
os._exit(status >> 8)
"""


def prepare_to_fork(modules: Iterable[str]) -> None:
    """Imports the modules that forks of this process need. Raises AssertionError if that has
    started a thread.
    """
    for name in modules:
        importlib.import_module(name)
    threads = len([*Path("/proc/self/task").iterdir()])
    assert threads == 1, "threads are not forked"
    gc.collect()
    gc.freeze()  # a collection would copy the memory that the processes share


def start_programs(
    module: str,
    names: Sequence[str],
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    first_descriptor: int = sys.maxsize,
) -> Path:
    """Starts a Python that runs a module with the descriptor of a socket, for `ForkedPrograms`.
    Returns the folder of the programs that stand for what it forks, which have these names; their
    words from `first_descriptor` on are descriptors that what is forked has as well.
    """
    folder = Path(tempfile.mkdtemp(prefix="forked-"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(100)
    text = _CLIENT.format(
        python=python, address=str(folder / "socket"), first_descriptor=first_descriptor
    )
    for name in names:
        program = folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    # its standard input ends with this process
    reading, _ = os.pipe()
    with listener, open(reading, "rb") as stdin:  # noqa: PTH123  a descriptor
        subprocess.Popen(
            [python, "-m", module, str(listener.fileno())],
            stdin=stdin,
            env=environment,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    return folder


class ForkedPrograms:
    """The processes that are forked: by the descriptor of each, its id and its connection."""

    def __init__(self, descriptor: int) -> None:
        self._listener = socket.socket(fileno=descriptor)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        self._running: dict[int, tuple[int, socket.socket]] = {}

    def wait(self) -> None:
        """Waits for the first request. Exits when the test run has ended."""
        for key, _ in self._selector.select():
            if key.fd == 0:
                self._exit()

    def serve(self) -> list[str]:
        """Forks for each request, and returns in the new process, as which it has become the
        requested one, its words. Exits when the test run has ended.
        """
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    if words := self._fork():
                        return words
                elif key.fd == 0:
                    self._exit()
                elif key.data in self._running:
                    self._look_at(key)

    def _fork(self) -> list[str] | None:
        if sys.platform != "linux":
            raise NotImplementedError  # no other system has descriptors of processes
        connection, _ = self._listener.accept()
        descriptors: list[int] = []
        try:
            head, descriptors, _, _ = socket.recv_fds(connection, _HEAD, _STREAMS + 1)
            content = _received(connection, int.from_bytes(head, "big"))
        except ConnectionError:
            for each in (*descriptors, connection.detach()):
                os.close(each)
            return None
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            for process, (_, other) in self._running.items():
                os.close(process)
                other.close()
            self._listener.close()
            connection.close()
            return _become(content, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        _send(connection, pid)
        process = os.pidfd_open(pid)
        self._running[process] = (pid, connection)
        self._selector.register(process, selectors.EVENT_READ, process)
        self._selector.register(connection, selectors.EVENT_READ, process)
        return None

    def _look_at(self, key: selectors.SelectorKey) -> None:
        """Sends the status of a process that has ended, or ends one whose client was killed."""
        process = key.data
        pid, connection = self._running[process]
        if key.fd != process:
            _kill(process)
            self._selector.unregister(connection)
            return
        del self._running[process]
        status = os.waitpid(pid, 0)[1]
        self._selector.unregister(process)
        os.close(process)
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
            _send(connection, status)
        connection.close()

    def _exit(self) -> None:
        for process in self._running:
            _kill(process)
        shutil.rmtree(Path(self._listener.getsockname()).parent)
        sys.exit()


def _kill(process: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)


def _send(connection: socket.socket, number: int) -> None:
    """Sends a number, unless the client was killed: that is seen when the connection is read."""
    with contextlib.suppress(ConnectionError):
        connection.sendall(number.to_bytes(_HEAD, "big"))


def _received(connection: socket.socket, size: int) -> bytes:
    """Returns a request of `size` bytes. Raises ConnectionError if the client was killed before."""
    content = b""
    while not content or len(content) < size:
        received = connection.recv(size - len(content))
        if not received:
            raise ConnectionResetError
        content += received
    return content


def _become(content: bytes, descriptors: list[int]) -> list[str]:
    """Makes this process the requested one; returns its words."""
    words: list[str]
    words, environment, folder = marshal.loads(content)  # noqa: S302  of the client above
    streams, others = descriptors[:_STREAMS], descriptors[_STREAMS:]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    if others:
        words[-len(others) :] = map(str, others)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  as Python does
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    own = set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # what was found by the environment of the other process
    kept = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, kept), *(each for each in sys.path if each not in own)]
    os.chdir(folder)
    return words
