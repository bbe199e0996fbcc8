"""Housekeeping: chores that are done from time to time, in a thread of their own.

Any number of processes may do the same chores over the same stores; each chore allows for that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from anabranch.errors import AnabranchError

__all__ = ["Chore", "Housekeeping"]

_log = logging.getLogger(__name__)


class Chore(NamedTuple):
    """Something to be done at once and then every so many seconds."""

    do: Callable[[], object]
    every_seconds: float


class Housekeeping:
    """Does chores until it is stopped."""

    def __init__(self, chores: Sequence[Chore]) -> None:
        self._chores = chores
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="anabranch-housekeeping", daemon=True
        )

    def start(self) -> None:
        """Begins with all chores."""
        self._thread.start()

    def stop(self) -> None:
        """Lets the chore at hand finish and waits for it."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        due = [time.monotonic()] * len(self._chores)
        while not self._stopped.wait(max(0.0, min(due) - time.monotonic())):
            for number, chore in enumerate(self._chores):
                if due[number] <= time.monotonic():
                    _do(chore)
                    due[number] = time.monotonic() + chore.every_seconds


def _do(chore: Chore) -> None:
    try:
        chore.do()
    except AnabranchError as error:
        # a store that cannot answer now is asked again at the next round
        _log.warning("housekeeping: %s", error.message)
    except Exception:  # noqa: BLE001  the next chore must be done all the same
        _log.exception("housekeeping")
