"""Progress of long jobs on standard error: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch.cli.output.streams import Output
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    import rich.progress

__all__ = ["ProgressRelay", "show_progress"]

_LINE_INTERVAL = 10.0


class ProgressRelay:
    """Forwards reports to `target`, which may be replaced between two steps of a job: a question
    must not be asked while a bar is on the screen.
    """

    def __init__(self) -> None:
        self.target: Progress = NO_PROGRESS

    def begin(self, step: str, total: int) -> None:
        """Forwards the begin of a step."""
        self.target.begin(step, total)

    def advance(self, amount: int) -> None:
        """Forwards items that are done."""
        self.target.advance(amount)


@contextmanager
def show_progress(
    output: Output,
    *,
    rate: bool = False,
    silent: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Progress]:
    """Provides progress that is shown on standard error.

    With `rate`, the items are objects whose number is unknown, and are shown with how many are done
    a second. With `--json` there are lines, on a terminal as well. Nothing is shown if `silent`.
    `clock` returns seconds.
    """
    if silent:
        yield NO_PROGRESS
        return
    if output.json or not output.err_terminal:
        yield (_RateLines if rate else _Lines)(output, clock)
        return
    # importing it takes a fifteenth of a second, which only a terminal is worth
    from rich import progress as bar  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=output.err, no_color=not output.err_colour)
    columns: tuple[bar.ProgressColumn, ...] = (
        bar.TextColumn("{task.description}"),
        bar.BarColumn(),
        bar.TextColumn("{task.completed:,.0f}"),
        bar.TimeElapsedColumn(),
        bar.TimeRemainingColumn(),
    )
    if rate:
        columns = (
            bar.SpinnerColumn(),
            bar.TextColumn("{task.description}: {task.completed:,.0f} objects"),
            bar.TextColumn("{task.fields[rate]}"),
            bar.TimeElapsedColumn(),
        )
    with bar.Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars, clock)


class _Lines:
    """A line when a step begins, and at most every ten seconds while its count changes."""

    def __init__(self, output: Output, clock: Callable[[], float]) -> None:
        self._output = output
        self._clock = clock
        self._lock = threading.Lock()
        self._step, self._total, self._done, self._shown = "", 0, 0, 0
        self._start, self._due = 0.0, 0.0

    def begin(self, step: str, total: int) -> None:
        with self._lock:
            self._step, self._total, self._done, self._shown = step, total, 0, 0
            self._start = self._clock()
            self._due = self._start + _LINE_INTERVAL
            self._show_step()

    def advance(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            now = self._clock()
            if now >= self._due and self._done != self._shown:
                self._due, self._shown = now + _LINE_INTERVAL, self._done
                self._output.note(self._count(now - self._start))

    def _show_step(self) -> None:
        self._output.note(f"{self._step} ({self._total})" if self._total else self._step)

    def _count(self, seconds: float) -> str:  # noqa: ARG002  rates need it
        of = f" of {self._total}" if self._total else ""
        return f"{self._step}: {self._done}{of}"


class _RateLines(_Lines):
    """Lines with a rate; none when a step begins."""

    def _show_step(self) -> None:
        pass

    def _count(self, seconds: float) -> str:
        return f"{self._step}: {self._done} objects, {self._done / seconds:.0f} a second"


class _Bars:
    """One bar, that of the current step."""

    def __init__(self, bars: rich.progress.Progress, clock: Callable[[], float]) -> None:
        self._bars = bars
        self._clock = clock
        self._lock = threading.Lock()
        self._task: rich.progress.TaskID | None = None
        self._done, self._start = 0, 0.0

    def begin(self, step: str, total: int) -> None:
        with self._lock:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(step, total=total or None, rate="")
            self._done, self._start = 0, self._clock()

    def advance(self, amount: int) -> None:
        with self._lock:
            if self._task is not None:
                self._done += amount
                rate = self._done / max(self._clock() - self._start, 1e-3)
                self._bars.update(self._task, advance=amount, rate=f"{rate:,.0f} a second")
