"""Runs of git on files."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Sequence

from anabranch.errors import Conflict

__all__ = ["run_git"]

_FATAL = 128
"""The exit status of git if it cannot go on."""

# whatever the configuration of the machine says
_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def run_git(
    arguments: Sequence[str], *, seconds: float, output: int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Returns the result of git, whose standard output is collected, or written to a descriptor.
    Raises Conflict (kind merge_failed) if it takes longer, MemoryError if it has too little memory.
    """
    with subprocess.Popen(
        ["git", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        env={**os.environ, **_ENVIRONMENT},
    ) as process:
        if hasattr(resource, "prlimit"):
            # git would outlive this process, if it is killed
            limit = int(seconds) + 1
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit))
        try:
            written, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            reason = f"git did not finish within {seconds:g} s"
            raise Conflict(
                reason, kind="merge_failed", hint="Choose a side for this path."
            ) from error
        except BaseException:
            process.kill()
            raise
    if process.returncode >= _FATAL and b"ut of memory" in errors:
        raise MemoryError("git has too little memory")
    return subprocess.CompletedProcess(process.args, process.returncode, written, errors)
