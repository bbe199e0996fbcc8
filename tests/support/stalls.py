"""Tests of time limits, repeated when the machine, not the program, exceeded the limit."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, Self

__all__ = ["StallWatch", "repeated_after_stalls"]

Parameters = ParamSpec("Parameters")

_INTERVAL_SECONDS = 0.01
_MAX_ATTEMPTS = 10


class StallWatch:
    """Measures, while it is entered, for how long the machine let no thread of this process run."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._before = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def longest(self) -> float:
        """The longest stall until now, in seconds, also one that the watch has not noticed yet."""
        return max(self._longest, time.monotonic() - self._before - _INTERVAL_SECONDS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        self._before = time.monotonic()
        while not self._done.wait(_INTERVAL_SECONDS):
            now = time.monotonic()
            self._longest = max(self._longest, now - self._before - _INTERVAL_SECONDS)
            self._before = now


def repeated_after_stalls(
    seconds: float,
) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Returns a decorator of tests: one that fails is run again if the machine stalled for longer
    than `seconds` meanwhile. The test must leave its fixtures as they were.
    """

    def decorate(test: Callable[Parameters, None]) -> Callable[Parameters, None]:
        @functools.wraps(test)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
            for _ in range(_MAX_ATTEMPTS - 1):
                with StallWatch() as watch:
                    try:
                        return test(*args, **kwargs)
                    except Exception:
                        if watch.longest <= seconds:
                            raise
            return test(*args, **kwargs)

        return run

    return decorate
