"""Tasks that run periodically in a thread of their own.

Several processes may run the same tasks over the same stores; each task must allow for that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from anabranch.errors import AnabranchError

__all__ = ["PeriodicTask", "PeriodicTasks"]

_log = logging.getLogger(__name__)


class PeriodicTask(NamedTuple):
    """A function to call at the start and then once per interval."""

    run: Callable[[], object]
    interval_seconds: float


class PeriodicTasks:
    """Runs tasks until it is stopped."""

    def __init__(self, tasks: Sequence[PeriodicTask], name: str = "housekeeping") -> None:
        self._tasks = tasks
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"anabranch-{name}", daemon=True)

    def start(self) -> None:
        """Starts the thread, which runs each task once at first."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread; waits for a running task."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        due_times = [time.monotonic()] * len(self._tasks)
        while not self._stopped.wait(max(0.0, min(due_times) - time.monotonic())):
            for index, task in enumerate(self._tasks):
                if due_times[index] <= time.monotonic():
                    _run_task(task)
                    due_times[index] = time.monotonic() + task.interval_seconds


def _run_task(task: PeriodicTask) -> None:
    try:
        task.run()
    except AnabranchError as error:
        # the store may be back when the task is due again
        _log.warning("housekeeping: %s", error.message)
    except Exception:  # noqa: BLE001  one failure must not stop the other tasks
        _log.exception("housekeeping")
