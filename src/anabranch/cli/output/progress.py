"""Progress of long jobs on standard error: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anabranch.cli.output.format import printable
from anabranch.cli.output.progress_line import ProgressLine, bar, duration, remaining
from anabranch.cli.output.streams import Output
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress

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
    step = _StepText(clock, rate=rate)
    with ProgressLine(output.err, step.text) as line:
        yield _StepLine(line, step)


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


class _StepText:
    """What the line says of the current step."""

    def __init__(self, clock: Callable[[], float], *, rate: bool) -> None:
        self._clock = clock
        self._rate = rate
        self.step, self.total, self.done, self.start = "", 0, 0, clock()

    def begin(self, step: str, total: int) -> None:
        self.step, self.total, self.done, self.start = step, total, 0, self._clock()

    def text(self, _seconds: float) -> str:
        seconds = self._clock() - self.start
        name = printable(self.step)
        if self._rate:
            rate = self.done / max(seconds, 1e-3)
            return f"{name}: {self.done:,} objects  {rate:,.0f} a second  {duration(seconds)}"
        of = f" of {self.total:,}" if self.total else ""
        parts = [name, *([bar(self.done, self.total)] if self.total else [])]
        parts += [f"{self.done:,}{of}", duration(seconds)]
        return "  ".join([*parts, remaining(self.done, self.total, seconds)]).rstrip()


class _StepLine:
    """Progress that is reported to a line."""

    def __init__(self, line: ProgressLine, step: _StepText) -> None:
        self._line = line
        self._step = step

    def begin(self, step: str, total: int) -> None:
        with self._line.lock:
            self._step.begin(step, total)
        self._line.changed(at_once=True)

    def advance(self, amount: int) -> None:
        with self._line.lock:
            self._step.done += amount
        self._line.changed()
