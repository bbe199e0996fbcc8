"""A progress bar on a terminal while bytes are transferred, and nothing in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from anabranch.cli.output.streams import Output

if TYPE_CHECKING:
    import rich.progress

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
    # imported here, because it takes 70 ms that only terminals need
    from rich import progress as bar  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=output.err, no_color=not output.err_colour)
    columns = (
        bar.TextColumn("{task.description}"),
        bar.BarColumn(),
        bar.DownloadColumn(binary_units=True),
        bar.TransferSpeedColumn(),
        bar.TimeRemainingColumn(),
    )
    with bar.Progress(*columns, console=console, transient=True) as bars:
        yield _Bar(bars, bars.add_task(what, total=0))


class _Bar:
    """A bar whose total grows as more objects are listed."""

    def __init__(self, bars: rich.progress.Progress, task: rich.progress.TaskID) -> None:
        self._bars = bars
        self._task = task
        self._total = 0
        self._lock = Lock()

    def expect(self, size: int) -> None:
        with self._lock:
            self._total += size
            self._bars.update(self._task, total=self._total)

    def advance(self, size: int) -> None:
        self._bars.advance(self._task, size)
