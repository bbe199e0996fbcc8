"""Waits for a job of the server by polling its state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from anabranch.cli.errors import Failure
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Job", "await_end"]

MIN_POLL_INTERVAL, MAX_POLL_INTERVAL = 0.1, 2.0
UPDATE_TIMEOUT = 120.0
"""After this many seconds without an update, the job is reported as lost."""


class Job(NamedTuple):
    """A job: its name in messages, the key of its object count in its state, and the hints after a
    failure and after a timeout.
    """

    noun: str
    id: str
    counted: str
    failed: str
    lost: str


def await_end(job: Job, poll: Callable[[], dict[str, Any]], progress: Progress) -> dict[str, Any]:
    """Returns the state of a job, which `poll` reads, when it is complete. Raises Failure if it
    failed. `progress` receives the number of objects.
    """
    interval, updated_at, updated, done = MIN_POLL_INTERVAL, time.monotonic(), "", 0
    while True:
        status = poll()
        if status.get("error"):
            raise Failure(status["error"]["message"], kind=f"{job.noun}_failed", hint=job.failed)
        progress.advance(status.get(job.counted, 0) - done)
        done = status.get(job.counted, 0)
        if status["completed"]:
            return status
        if status["update_time"] != updated:
            updated_at, updated = time.monotonic(), status["update_time"]
        elif time.monotonic() - updated_at > UPDATE_TIMEOUT:
            raise Failure(
                f"the {job.noun} {job.id} has not been updated for {UPDATE_TIMEOUT:.0f} s",
                kind=f"{job.noun}_lost",
                hint=job.lost,
            )
        time.sleep(interval)
        interval = min(interval * 1.5, MAX_POLL_INTERVAL)
