"""The steps of a long job: a bar for each on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from anabranch.cli.output import Output

if TYPE_CHECKING:
    import rich.progress

__all__ = ["Relay", "Steps", "steps"]

_LINE_SECONDS = 10.0


class Steps(Protocol):
    """What a long job tells of its steps, from any thread."""

    def begin(self, step: str, total: int) -> None:
        """Notes that a step begins, of so many things; 0 if nobody knows how many."""

    def advance(self, amount: int) -> None:
        """Notes that so many more are done."""


class Relay:
    """Hands what it is told to whatever shows it now, so that a question can come in between."""

    def __init__(self) -> None:
        self.to: Steps = _Silence()

    def begin(self, step: str, total: int) -> None:
        """Notes that a step begins."""
        self.to.begin(step, total)

    def advance(self, amount: int) -> None:
        """Notes that so many more are done."""
        self.to.advance(amount)


@contextmanager
def steps(output: Output, clock: Callable[[], float] = time.monotonic) -> Iterator[Steps]:
    """Gives what shows a job's steps on standard error. `clock` gives seconds."""
    if output.json or not output.err_terminal:
        yield _Silence() if output.json else _Lines(output, clock)
        return
    # a fifteenth of a second to import, which only those who watch should pay
    from rich import progress as bar  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=output.err, no_color=not output.err_colour)
    columns = (
        bar.TextColumn("{task.description}"),
        bar.BarColumn(),
        bar.TextColumn("{task.completed:,.0f}"),
        bar.TimeElapsedColumn(),
        bar.TimeRemainingColumn(),
    )
    with bar.Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars)


class _Silence:
    def begin(self, step: str, total: int) -> None:
        pass

    def advance(self, amount: int) -> None:
        pass


class _Lines:
    """A line at a step's begin and at most every ten seconds after."""

    def __init__(self, output: Output, clock: Callable[[], float]) -> None:
        self._output = output
        self._clock = clock
        self._lock = threading.Lock()
        self._step, self._total, self._done, self._due = "", 0, 0, 0.0

    def begin(self, step: str, total: int) -> None:
        with self._lock:
            self._step, self._total, self._done = step, total, 0
            self._due = self._clock() + _LINE_SECONDS
            self._output.note(f"{step} ({total})" if total else step)

    def advance(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            if self._clock() >= self._due:
                self._due = self._clock() + _LINE_SECONDS
                of = f" of {self._total}" if self._total else ""
                self._output.note(f"{self._step}: {self._done}{of}")


class _Bars:
    """One bar at a time."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        self._bars = bars
        self._task: rich.progress.TaskID | None = None

    def begin(self, step: str, total: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(step, total=total or None)

    def advance(self, amount: int) -> None:
        if self._task is not None:
            self._bars.advance(self._task, amount)
