"""A program of others, started by tests: its command, its environment, and what it says.

Its environment holds what it is given and nothing of the person's who runs the tests: no keys, no
profiles, no home with settings of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Program", "Ran"]

_TIMEOUT_SECONDS = 100


class Ran(NamedTuple):
    """What came of it: the exit status, and what was written to both streams."""

    status: int
    bytes: bytes
    errors: str

    @property
    def out(self) -> str:
        """What was written to standard output, as text."""
        return self.bytes.decode()

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.out.splitlines()


class Program:
    """A command with its first arguments, run in `folder`, which is its home as well."""

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        folder: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = [os.fspath(word) for word in command]
        self._folder = folder
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            **(env or {}),
        }

    def __call__(self, *words: str | os.PathLike[str], send: bytes = b"") -> Ran:
        """Returns what came of it. Raises AssertionError with its own words when it failed."""
        ran = self.attempt(*words, send=send)
        assert ran.status == 0, f"{words} ended with {ran.status}:\n{ran.out}\n{ran.errors}"
        return ran

    def attempt(self, *words: str | os.PathLike[str], send: bytes = b"") -> Ran:
        """Returns what came of it, failed or not; `send` is its standard input."""
        done = subprocess.run(
            [*self._command, *words],
            cwd=self._folder,
            env=self._env,
            input=send,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
