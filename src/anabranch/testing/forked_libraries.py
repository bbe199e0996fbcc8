"""The libraries of tables for all servers of a test run, imported once.

A server starts a fork server for queries and another for merges and comparisons of tables
(`child_process.fork_server`), each of which imports pyarrow and DuckDB: half a second. In servers
of tests that are forked, the fork servers are forked as well, by a process that has imported the
libraries when the first of them was needed.
"""

from __future__ import annotations

import importlib
import socket
import sys

from anabranch.child_process import fork_server, forking
from anabranch.child_process.environment import interpreter_environment
from anabranch.testing.exits import exit_after
from anabranch.testing.forked_programs import ForkedPrograms, start_programs

__all__ = ["share_libraries"]

_MODULES = (
    "anabranch.pipelines.queries.query_process",
    "anabranch.versioning.strategies.table_processes.table_process",
)


def share_libraries() -> None:
    """Has the fork servers of this process, and of those that it forks, be forked."""
    folder = start_programs(
        __name__,
        ["libraries"],
        environment=interpreter_environment() | fork_server.LIBRARIES,
        first_descriptor=2,  # its words are the module and the descriptor of a socket
    )
    fork_server.INTERPRETER[:] = [str(folder / "libraries")]


def _main() -> None:
    forking.leave_pandas_out()
    programs = ForkedPrograms(int(sys.argv[1]))
    programs.wait()
    for name in _MODULES:
        importlib.import_module(name).prepare()
    _, name, descriptor = programs.serve()
    module = importlib.import_module(name)
    module.prepare()
    exit_after(lambda: forking.serve(module, socket.socket(fileno=int(descriptor))))


if __name__ == "__main__":
    _main()
