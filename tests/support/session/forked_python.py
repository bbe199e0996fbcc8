"""A Python for tests that starts programs in a fraction of the time: forked by one that has
imported the package.

Most of what a command of `anabranch` or an example of a page costs is the import of a thousand
modules. `forked_python()` is a program that takes the words of an interpreter, and is given its
standard streams, environment and working folder as any other is; what runs is a fork of a process
that has imported the modules, has one thread, and ends with the test run. `make test-all` starts
interpreters, as users do.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
from functools import cache
from pathlib import Path

from support.session.sizes import WEEKLY

__all__ = ["forked_python", "program_path"]

_MODULES = (
    "anabranch.cli.main",
    "anabranch.server.serve",
    "anabranch.server.config.loader",
    "anabranch.aio",
    "anabranch.fsspec",
    "anabranch.mcp.stdio",
    "anabranch.testing.server",
)
"""Without pyarrow and DuckDB, which have threads when they are imported."""
_HEAD = 8
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
streams = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
connection.sendmsg([len(request).to_bytes(8, "big")], rights)
connection.sendall(request)
for stream in (0, 1, 2):
    os.close(stream)
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


def forked_python() -> str:
    """Returns a program that runs `-c` with a text and `-m` with a module as Python does."""
    return str(_start() / "python") if _can_fork() else sys.executable


def program_path() -> str:
    """Returns a `PATH` of folders where a shell finds `anabranch`, Python and the system's own."""
    folders = [str(_start() / "bin")] if _can_fork() else []
    return os.pathsep.join([*folders, f"{sys.prefix}/bin", "/usr/bin", "/bin"])


def _can_fork() -> bool:
    return sys.platform == "linux" and os.environ.get("FORKED_TEST_SERVERS") == "1" and not WEEKLY


@cache
def _start() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="forked-"))
    (folder / "bin").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(100)
    text = _CLIENT.format(python=sys.executable, address=str(folder / "socket"))
    for program in (folder / "python", folder / "bin" / "anabranch"):
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    # its standard input ends with this process
    reading, _ = os.pipe()
    with listener, open(reading, "rb") as stdin:  # noqa: PTH123  a descriptor
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno())],
            stdin=stdin,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    return folder


class _Children:
    """The processes that were forked: by the descriptor of each, its id and its connection."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        self._running: dict[int, tuple[int, socket.socket]] = {}

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
        connection, _ = self._listener.accept()
        head, streams, _, _ = socket.recv_fds(connection, _HEAD, 3)
        content = _received(connection, int.from_bytes(head, "big"))
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            for process, (_, other) in self._running.items():
                os.close(process)
                other.close()
            self._listener.close()
            connection.close()
            return _become(content, streams)
        for stream in streams:
            os.close(stream)
        connection.sendall(pid.to_bytes(_HEAD, "big"))
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
            signal.pidfd_send_signal(process, signal.SIGKILL)
            self._selector.unregister(connection)
            return
        del self._running[process]
        status = os.waitpid(pid, 0)[1]
        self._selector.unregister(process)
        os.close(process)
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(status.to_bytes(_HEAD, "big"))
        connection.close()

    def _exit(self) -> None:
        for process in self._running:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        shutil.rmtree(Path(self._listener.getsockname()).parent)
        sys.exit()


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        content += connection.recv(size - len(content))
    return content


def _become(content: bytes, streams: list[int]) -> list[str]:
    """Makes this process the requested one; returns its words."""
    words: list[str]
    words, environment, folder = marshal.loads(content)  # noqa: S302  of the client above
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  as Python does
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    own = set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ.clear()
    os.environ.update(environment)
    kept = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, kept), *(each for each in sys.path if each not in own)]
    os.chdir(folder)
    return words


def _run(program: str, *words: str) -> None:
    match [*words]:
        case _ if program == "anabranch":
            sys.argv[:] = [program, *words]
            sys.exit(sys.modules["anabranch.cli.main"].main())
        case ["-m", module, *rest]:
            sys.argv[:] = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", text, *rest]:
            sys.argv[:] = ["-c", *rest]
            sys.path.insert(0, "")
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(text, "<string>", "exec"), vars(main))  # noqa: S102  what it is for


def _main() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    threads = len([*Path("/proc/self/task").iterdir()])
    assert threads == 1, "threads are not forked"
    gc.collect()
    gc.freeze()  # a collection would copy the memory that the processes share
    _run(*_Children(socket.socket(fileno=int(sys.argv[1]))).serve())


if __name__ == "__main__":
    _main()
