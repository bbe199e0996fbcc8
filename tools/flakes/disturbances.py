"""What makes a machine unfriendly to tests: other processes at work, late responses, a slow disk,
and the end of all that was started.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from anabranch.child_process.descendants import descendants

__all__ = ["adopt_orphans", "busy_processes", "kill_descendants", "slow_calls"]

_SOURCE = Path(__file__).parent / "slow_calls.c"
_PR_SET_CHILD_SUBREAPER = 36
_MAX_KILLS = 100

# ends with its parent, however that ends
_BUSY = """
import os
parent = int(os.environ["FLAKES_PARENT"])
while os.getppid() == parent:
    sum(range(100_000))
"""


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[frozenset[int]]:
    """Runs processes that each use a core at normal priority; yields their ids."""
    environment = {**os.environ, "FLAKES_PARENT": str(os.getpid())}
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-c", _BUSY], env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process.pid)
        yield frozenset(processes)


def slow_calls(folder: Path, *, late_ms: float, disk_ms: float) -> dict[str, str]:
    """Returns the environment in which clients receive responses up to `late_ms` milliseconds
    late and the disk takes up to `disk_ms` longer; builds the library for that in `folder`.

    Raises OSError where that is impossible, and CalledProcessError if the compiler fails.
    """
    if not (late_ms or disk_ms):
        return {}
    if sys.platform != "linux":
        raise OSError("late responses and a slow disk need Linux: give --late 0 --disk 0")
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("late responses and a slow disk need a C compiler named cc")
    library = folder / "slow_calls.so"
    options = ["-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-U_FORTIFY_SOURCE"]
    subprocess.run([compiler, *options, "-o", library, _SOURCE, "-ldl"], check=True)
    return {
        "LD_PRELOAD": " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")])),
        "FLAKES_LATE_MS": str(late_ms),
        "FLAKES_DISK_MS": str(disk_ms),
    }


def adopt_orphans() -> None:
    """Makes processes whose parents have ended children of this one, so that they can be found.
    Does nothing except on Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants(*, spare: Collection[int] = ()) -> list[str]:
    """Kills the descendants of this process but those in `spare`; returns their command lines.
    Does nothing except on Linux.
    """
    commands: dict[int, str] = {}
    for _ in range(_MAX_KILLS):  # one that is killed may have started another one before
        living = [pid for pid in descendants(os.getpid()) if pid not in spare]
        if not living:
            break
        for pid in living:
            commands.setdefault(pid, _command(pid))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in living:
            with contextlib.suppress(ChildProcessError):  # its own parent waits for it
                os.waitpid(pid, 0)
    return [command for command in commands.values() if command]


def _command(pid: int) -> str:
    """Returns the command line of a process, empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""
