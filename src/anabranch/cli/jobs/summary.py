"""The summary of a long job, for programs: the same keys whichever engine did the work.

    {"job": "import", "engine": "local", "why": "…", "state": "done", "error": null,
     "started_at": 1.5, "ended_at": 2.5, "result": {…}}

`state` is "done", "failed" or "interrupted"; then `error` has kind, message and hint, and `result`
is null. Times are in seconds since 1970. What is in `result` depends on the job alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anabranch.cli.framework.command import Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.engines import Chosen
from anabranch.errors import AnabranchError

__all__ = ["SUMMARY", "Summary", "write_summary"]

SUMMARY = Option(
    "--summary", "Write a summary to this file, as JSON; - is standard output", "FILE", default=""
)


class Summary:
    """Receives the result of a job."""

    result: Any = None

    def __init__(self, place: str) -> None:
        self.printed = place == "-"
        """Whether the summary is the only output."""


@contextmanager
def write_summary(
    context: CommandContext, job: str, chosen: Chosen, clock: Callable[[], float] = time.time
) -> Iterator[Summary]:
    """Gives the receiver of a job's result, and writes the summary when the job has ended, also
    after an error. `clock` returns seconds since 1970. Raises OSError if the file cannot be
    written.
    """
    place = context.arguments.summary
    summary = Summary(place)
    document: dict[str, Any] = {
        "job": job,
        "engine": chosen.engine,
        "why": chosen.why,
        "state": "done",
        "error": None,
        "started_at": clock(),
    }
    try:
        yield summary
    except KeyboardInterrupt:
        document["state"] = "interrupted"
        raise
    except BaseException as error:
        document["state"], document["error"] = "failed", _error(error)
        raise
    finally:
        document["ended_at"] = clock()
        document["result"] = summary.result if document["state"] == "done" else None
        if place:
            text = json.dumps(document, ensure_ascii=False, indent=1)
            if summary.printed:
                context.output.line(text)
            else:
                Path(place).write_text(f"{text}\n", encoding="utf-8")


def _error(error: BaseException) -> dict[str, str]:
    if isinstance(error, AnabranchError):
        return {"kind": error.kind, "message": error.message, "hint": error.hint}
    return {"kind": "error", "message": str(error) or type(error).__name__, "hint": ""}
