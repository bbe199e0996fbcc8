"""An interpreter for processes of hooks that starts in a fraction of the time: forked by one that
has imported what runs Lua.

Lua cannot start processes, so the end of this one is the end of all. Hooks in Python can, and have
interpreters of their own, as all hooks have in `make test-all`.
"""

from __future__ import annotations

import sys
from functools import cache

from anabranch.testing.exits import exit_after
from anabranch.testing.forked_programs import ForkedPrograms, prepare_to_fork, start_programs
from support.session.forked_python import can_fork

__all__ = ["hook_interpreter"]

_PROCESS = "anabranch.actions.hooks.process.hook_process"
_MODULES = (_PROCESS, "anabranch.actions.hooks.lua.hook", "anabranch.actions.hooks.lua.sandbox")


def hook_interpreter() -> str:
    """Returns a program that runs the module of processes of hooks, for `child.INTERPRETER`."""
    return _start() if can_fork() else sys.executable


@cache
def _start() -> str:
    return str(start_programs(__name__, ["python"]) / "python")


def _main() -> None:
    prepare_to_fork(_MODULES)
    _, _, module = ForkedPrograms(int(sys.argv[1])).serve()
    exit_after(sys.modules[module].main)


if __name__ == "__main__":
    _main()
