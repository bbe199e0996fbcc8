"""A Python for tests that starts programs in a fraction of the time: forked by one that has
imported the package.

Most of what a command of `anabranch` or an example of a page costs is the import of a thousand
modules. `forked_python()` is a program that takes the words of an interpreter, and is given its
standard streams, environment and working folder as any other is; what runs is a fork of a process
that has imported the modules: see `anabranch.testing.forked_programs`. `make test-all` starts
interpreters, as users do.
"""

from __future__ import annotations

import os
import runpy
import sys
import types
from functools import cache
from pathlib import Path

from anabranch.testing.exits import exit_after
from anabranch.testing.forked_programs import ForkedPrograms, prepare_to_fork, start_programs
from support.session.sizes import WEEKLY

__all__ = ["can_fork", "forked_python", "program_path"]

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


def forked_python() -> str:
    """Returns a program that runs `-c` with a text and `-m` with a module as Python does."""
    return str(_start() / "python") if can_fork() else sys.executable


def program_path() -> str:
    """Returns a `PATH` of folders where a shell finds `anabranch`, Python and the system's own."""
    folders = [str(_start() / "bin")] if can_fork() else []
    return os.pathsep.join([*folders, f"{sys.prefix}/bin", "/usr/bin", "/bin"])


def can_fork() -> bool:
    """Returns whether programs of this test run are forked: not in `make test-all`."""
    return sys.platform == "linux" and os.environ.get("FORKED_TEST_SERVERS") == "1" and not WEEKLY


@cache
def _start() -> Path:
    return start_programs(__name__, ["python", "bin/anabranch"])


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
    prepare_to_fork(_MODULES)
    words = ForkedPrograms(int(sys.argv[1])).serve()
    exit_after(lambda: _run(*words))


if __name__ == "__main__":
    _main()
