"""Waiting for a job of the server's: it is asked how far it is until it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from anabranch.cli.failure import Failure

__all__ = ["Job", "await_end"]

FIRST_POLL, LONGEST_POLL = 0.1, 2.0
SILENT_SECONDS = 120.0
"""A server that has not been heard of for so long has forgotten the job; ours says so itself."""


class Job(NamedTuple):
    """A job: what it is called, the key under which its state counts objects, and what to do when
    it has failed, or nobody has heard of it for long.
    """

    noun: str
    id: str
    counted: str
    failed: str
    lost: str


def await_end(
    job: Job, ask: Callable[[], dict[str, Any]], show: Callable[[int], None]
) -> dict[str, Any]:
    """Returns the state of a job, which `ask` asks for, when it is complete. Raises Failure for
    one that has failed.
    """
    pause, heard, updated = FIRST_POLL, time.monotonic(), ""
    while True:
        status = ask()
        if status.get("error"):
            raise Failure(status["error"]["message"], kind=f"{job.noun}_failed", hint=job.failed)
        show(status.get(job.counted, 0))
        if status["completed"]:
            return status
        if status["update_time"] != updated:
            heard, updated = time.monotonic(), status["update_time"]
        elif time.monotonic() - heard > SILENT_SECONDS:
            raise Failure(
                f"nothing has been heard of the {job.noun} {job.id} for {SILENT_SECONDS:.0f} s",
                kind=f"{job.noun}_lost",
                hint=job.lost,
            )
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_POLL)
