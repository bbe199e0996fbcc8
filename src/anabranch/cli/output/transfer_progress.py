"""A progress bar on a terminal while bytes are transferred, and nothing in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from anabranch.cli.output.format import printable, size
from anabranch.cli.output.progress_line import ProgressLine, bar, remaining
from anabranch.cli.output.streams import Output

__all__ = ["Progress", "progress"]


class Progress(Protocol):
    """The progress of a transfer."""

    def expect(self, size: int) -> None:
        """Reports `size` more bytes to transfer."""

    def advance(self, size: int) -> None:
        """Reports `size` bytes as transferred."""


class _Silence:
    def expect(self, size: int) -> None:
        pass

    def advance(self, size: int) -> None:
        pass


@contextmanager
def progress(output: Output, what: str) -> Iterator[Progress]:
    """Gives a progress bar labelled `what`, if standard error is a terminal."""
    if not output.err_terminal or output.json:
        yield _Silence()
        return
    transfer = _Transfer(what)
    with ProgressLine(output.err, transfer.text) as line:
        transfer.line = line
        yield transfer


class _Transfer:
    """Bytes transferred and to transfer, whose number grows as more objects are listed."""

    line: ProgressLine

    def __init__(self, what: str) -> None:
        self._what = printable(what)
        self._total = 0
        self._done = 0

    def expect(self, size: int) -> None:
        with self.line.lock:
            self._total += size
        self.line.changed()

    def advance(self, size: int) -> None:
        with self.line.lock:
            self._done += size
        self.line.changed()

    def text(self, seconds: float) -> str:
        """Returns the line: bytes, bytes a second and the time that is left."""
        rate = size(int(self._done / max(seconds, 1e-3)))
        done = f"{size(self._done)} of {size(self._total)}"
        parts = [self._what, bar(self._done, self._total), done, f"{rate}/s"]
        return "  ".join([*parts, remaining(self._done, self._total, seconds)]).rstrip()
