"""Output that is longer than the terminal goes to a pager, as that of Git does."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TextIO

__all__ = ["PagedText", "pager_command", "paging"]

_DEFAULT = "less"
_OPTIONS_OF_LESS = "FRX"
"""It ends by itself if all fits, shows colours, and leaves what was shown on the terminal."""


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Returns the program that `PAGER` names, by default less; none if that is not there."""
    named = environment.get("PAGER", _DEFAULT)
    try:
        words = shlex.split(named)
    except ValueError:  # a quote without its end
        return []
    if not words or words == ["cat"] or environment.get("TERM") == "dumb":
        return []
    found = shutil.which(words[0], path=environment.get("PATH"))
    return [found, *words[1:]] if found else []


class PagedText:
    """Keeps text until it is longer than the terminal of `out`, and starts a pager then; text that
    fits is written to `out` when it is closed.
    """

    def __init__(self, out: TextIO, command: list[str], environment: Mapping[str, str]) -> None:
        self._out = out
        self._command = command
        self._environment = {"LESS": _OPTIONS_OF_LESS, **environment}
        self._room, self._width = _size(out)
        self._kept: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._input: IO[str] | None = None
        self.encoding = out.encoding

    def write(self, text: str) -> int:
        """Writes text. Raises BrokenPipeError if the pager has ended."""
        if self._input is not None:
            self._input.write(text)
            return len(text)
        self._kept.append(text)
        self._room -= text.count("\n") + len(text) // self._width
        if self._room < 0:
            self._start()
        return len(text)

    def flush(self) -> None:
        """Does nothing: the pager shows a screen at a time."""

    def isatty(self) -> bool:
        """Returns True: a person reads it."""
        return True

    def close(self) -> None:
        """Shows what is kept, or waits until the reader ends the pager."""
        if self._pager is None or self._input is None:
            self._out.write("".join(self._kept))
            return
        with suppress(BrokenPipeError):
            self._input.close()
        while True:
            with suppress(KeyboardInterrupt):  # it is for the pager, which goes on
                self._pager.wait()
                return

    def _start(self) -> None:
        self._out.flush()
        self._pager = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=self._out.fileno(),
            env=self._environment,
            text=True,
            encoding=self.encoding,
            errors="backslashreplace",
        )
        self._input = self._pager.stdin
        if self._input is not None:
            self._input.write("".join(self._kept))


@contextmanager
def paging(out: TextIO, environment: Mapping[str, str]) -> Iterator[PagedText | None]:
    """Gives what takes the text of a block, None without a pager or a terminal. If its reader ends
    the pager, the block ends as well.
    """
    command = pager_command(environment)
    try:
        text = PagedText(out, command, environment) if command else None
    except (OSError, ValueError):  # no file, or no terminal
        text = None
    if text is None:
        yield None
        return
    try:
        with suppress(BrokenPipeError):
            yield text
    finally:
        text.close()


def _size(out: TextIO) -> tuple[int, int]:
    """Returns the lines and the columns of a terminal. Raises OSError for what is none."""
    size = os.get_terminal_size(out.fileno())
    return max(1, size.lines - 1), max(1, size.columns)
