"""The fork server's side of `fork_server`: imports a module, and forks to run it.

The module has two functions. `prepare()` imports what it needs, and leaves no thread behind: a
thread is not forked, and what it holds stays locked. `main(lifeline)` performs one request over
standard input and output, and ends when the descriptor `lifeline` has been closed at its other end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import threading
from typing import Any

__all__ = ["end_with", "import_libraries", "leave_pandas_out", "serve"]

_ENDED = {signal.SIGCHLD}


def end_with(lifeline: int) -> None:
    """Ends this process once the other end of a pipe is closed, also by the death of the process
    that has it.
    """

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.read(lifeline, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def import_libraries(*names: str) -> None:
    """Imports those of the modules that are installed, for `prepare`."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "duckdb" in sys.modules:
        # the connection that DuckDB makes at its import has a thread, which would not be forked
        sys.modules["duckdb"].execute("SET threads = 1")
    gc.collect()
    gc.freeze()  # a collection would copy the memory that processes share


def serve(module: Any, connection: socket.socket) -> None:
    """Forks for each message, which has three descriptors, and sends the descriptor of the process,
    until the other side has ended.
    """
    if sys.platform != "linux":
        raise NotImplementedError  # others spawn: see `fork_server`
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
        if not data:
            return
        # no process may be forgotten by the system before its descriptor is open
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDED)
        process = os.fork()
        if process == 0:
            connection.close()
            _run(module, *descriptors)
        opened = os.pidfd_open(process)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDED)
        socket.send_fds(connection, [b"\0"], [opened])
        for descriptor in (*descriptors, opened):
            os.close(descriptor)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(module: Any, standard_input: int, standard_output: int, lifeline: int) -> None:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDED)
        for source, target in ((standard_input, 0), (standard_output, 1)):
            os.dup2(source, target)
            os.close(source)
        module.main(lifeline)
        status = 0
    finally:
        os._exit(status)


class _WithoutPandas:
    """Modules that are run here need no pandas, which pyarrow and DuckDB import where it is
    installed: a quarter of a second and 50 MiB.
    """

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name=name)


def leave_pandas_out() -> None:
    """Lets no module of this process import pandas."""
    sys.meta_path.insert(0, _WithoutPandas())


def main(arguments: list[str]) -> None:
    """Serves forks of a module over a socket, or with `--once` runs it in this process."""
    name, *once, descriptor = arguments
    leave_pandas_out()
    module = importlib.import_module(name)
    module.prepare()
    if once:
        module.main(int(descriptor))
    else:
        serve(module, socket.socket(fileno=int(descriptor)))


if __name__ == "__main__":
    main(sys.argv[1:])
