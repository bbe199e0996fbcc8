"""One line of a terminal that shows how far a job is, and disappears when the job ends.

The line is drawn again at most ten times a second, by whichever thread reports progress, and by a
thread of its own while nothing is reported, so that the time on it moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, RLock, Thread
from typing import Self, TextIO

from anabranch.cli.output.format import display_width

__all__ = ["ProgressLine", "bar", "duration", "remaining"]

_DRAW_INTERVAL = 0.1
_IDLE_INTERVAL = 1.0
_BAR_WIDTH = 30
_CLEAR = "\r\x1b[2K"
_MINUTE = 60
_HOUR = 3600


class ProgressLine:
    """Context in which `text`, called with the seconds since the beginning, fills the line. It is
    called under `lock`, under which callers change what it reads.
    """

    def __init__(
        self,
        stream: TextIO,
        text: Callable[[float], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lock = RLock()
        self._stream = stream
        self._text = text
        self._clock = clock
        self._start = clock()
        self._due = self._start
        self._ended = Event()
        self._thread = Thread(target=self._draw_while_idle, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        with self.lock:
            self._write(_CLEAR)

    def changed(self, *, at_once: bool = False) -> None:
        """Draws the line, unless it was drawn a moment ago and this may wait."""
        with self.lock:
            if at_once or self._clock() >= self._due:
                self._draw()

    def _draw(self) -> None:
        now = self._clock()
        self._due = now + _DRAW_INTERVAL
        text = self._text(now - self._start)
        from shutil import get_terminal_size  # noqa: PLC0415  slow, and for terminals only

        width = get_terminal_size().columns - 1
        while display_width(text) > width:
            text = text[:-1]
        self._write(_CLEAR + text)

    def _draw_while_idle(self) -> None:
        while not self._ended.wait(_IDLE_INTERVAL):
            with self.lock:
                self._draw()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def bar(done: float, total: float) -> str:
    """Returns a bar of fixed width, empty if the total is unknown (0)."""
    share = min(done / total, 1.0) if total else 0.0
    filled = int(share * _BAR_WIDTH)
    return f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]"


def remaining(done: float, total: float, seconds: float) -> str:
    """Returns how long the rest takes at the rate so far, empty if the rate or total is unknown."""
    if not done or total <= 0:
        return ""
    return f"{duration(max(total - done, 0) * seconds / done)} left"


def duration(seconds: float) -> str:
    """Returns a time as 0:07 or 1:02:33."""
    whole = int(seconds)
    minutes = f"{whole % _HOUR // _MINUTE}:{whole % _MINUTE:02}"
    return minutes if whole < _HOUR else f"{whole // _HOUR}:{minutes.zfill(5)}"
