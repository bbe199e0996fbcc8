"""The summary of a long job, for programs; all engines write the same keys.

    {"job": "import", "engine": "local", "why": "…", "state": "done", "error": null,
     "started_at": 1.5, "ended_at": 2.5, "result": {…}}

`state` is "done", "failed" or "interrupted"; then `error` has kind, message and hint, and `result`
is null. Times are in seconds since 1970. The content of `result` depends only on the job.
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
from anabranch.cli.jobs.engines import EngineChoice
from anabranch.errors import AnabranchError

__all__ = ["SUMMARY", "Summary", "write_summary"]

SUMMARY = Option(
    "--summary", "Write a summary to this file, as JSON; - is standard output", "FILE", default=""
)


class Summary:
    """Receives the result of a job."""

    result: Any = None

    def __init__(self, path: str) -> None:
        self.printed = path == "-"
        """Whether the summary is the only output."""


@contextmanager
def write_summary(
    context: CommandContext, job: str, choice: EngineChoice, clock: Callable[[], float] = time.time
) -> Iterator[Summary]:
    """Yields the receiver of a job's result, and writes the summary when the job has ended, also
    after an error. `clock` returns seconds since 1970. Raises OSError if the file cannot be
    written.
    """
    path = context.arguments.summary
    summary = Summary(path)
    document: dict[str, Any] = {
        "job": job,
        "engine": choice.engine,
        "why": choice.why,
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
        if path:
            text = json.dumps(document, ensure_ascii=False, indent=1)
            if summary.printed:
                context.output.line(text)
            else:
                Path(path).write_text(f"{text}\n", encoding="utf-8")


def _error(error: BaseException) -> dict[str, str]:
    if isinstance(error, AnabranchError):
        return {"kind": error.kind, "message": error.message, "hint": error.hint}
    return {"kind": "error", "message": str(error) or type(error).__name__, "hint": ""}
