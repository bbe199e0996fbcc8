"""How far a long job is: a moving line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anabranch.cli.output import Output

__all__ = ["counting"]

_LINE_SECONDS = 10.0


@contextmanager
def counting(
    output: Output, what: str, *, silent: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how many objects are done by now, and shows it on standard
    error; with `silent` it shows nothing. `clock` gives seconds.
    """
    if silent:
        yield lambda _: None
    elif output.err_terminal and not output.json:
        with _moving(output, what) as show:
            yield show
    else:
        yield _Lines(output, what, clock).show


class _Lines:
    """A line at most every ten seconds, and only when the number has changed."""

    def __init__(self, output: Output, what: str, clock: Callable[[], float]) -> None:
        self._output = output
        self._what = what
        self._clock = clock
        self._start = clock()
        self._due = self._start + _LINE_SECONDS
        self._shown = 0

    def show(self, number: int) -> None:
        now = self._clock()
        if now >= self._due and number != self._shown:
            rate = number / (now - self._start)
            self._output.note(f"{self._what}: {number} objects, {rate:.0f} a second")
            self._due, self._shown = now + _LINE_SECONDS, number


@contextmanager
def _moving(output: Output, what: str) -> Iterator[Callable[[int], None]]:
    # a fifteenth of a second to import, which only those who watch should pay
    from rich import progress as bar  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=output.err, no_color=not output.err_colour)
    columns = (
        bar.SpinnerColumn(),
        bar.TextColumn("{task.description}: {task.completed:,.0f} objects"),
        bar.TextColumn("{task.fields[rate]}"),
        bar.TimeElapsedColumn(),
    )
    start = time.monotonic()
    with bar.Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(what, total=None, rate="")

        def show(number: int) -> None:
            rate = f"{number / max(time.monotonic() - start, 1e-3):,.0f} a second"
            bars.update(task, completed=number, rate=rate)

        yield show
