"""Waits for a job of the server by polling its state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from anabranch.cli.errors import Failure
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Job", "await_end"]

FIRST_POLL, LONGEST_POLL = 0.1, 2.0
SILENT_SECONDS = 120.0
"""After this time without an update, the job is lost. Anabranch reports that itself."""


class Job(NamedTuple):
    """A job: its name in messages, the key of its object count in its state, and the hints after a
    failure and after a timeout.
    """

    noun: str
    id: str
    counted: str
    failed: str
    lost: str


def await_end(job: Job, ask: Callable[[], dict[str, Any]], progress: Progress) -> dict[str, Any]:
    """Returns the state of a job, polled with `ask`, when it is complete. Raises Failure if it
    failed. `progress` receives the number of objects.
    """
    pause, heard, updated, done = FIRST_POLL, time.monotonic(), "", 0
    while True:
        status = ask()
        if status.get("error"):
            raise Failure(status["error"]["message"], kind=f"{job.noun}_failed", hint=job.failed)
        progress.advance(status.get(job.counted, 0) - done)
        done = status.get(job.counted, 0)
        if status["completed"]:
            return status
        if status["update_time"] != updated:
            heard, updated = time.monotonic(), status["update_time"]
        elif time.monotonic() - heard > SILENT_SECONDS:
            raise Failure(
                f"the {job.noun} {job.id} has not been updated for {SILENT_SECONDS:.0f} s",
                kind=f"{job.noun}_lost",
                hint=job.lost,
            )
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_POLL)
