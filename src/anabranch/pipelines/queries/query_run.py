"""One request in a process of its own, which is killed when its time is up or its client has gone.

The process asks for objects and metadata by calls; `CallAnswers` answers them. An error of the lake
in such a call, such as a missing permission, is the error of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.child_process.fork_server import ForkServer, StartedProcess
from anabranch.child_process.supervision import Stop, Supervision
from anabranch.errors import AnabranchError, Invalid
from anabranch.http.abandonment import abandonment
from anabranch.pipelines.queries import messages
from anabranch.pipelines.queries.call_answers import CallAnswers
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.tables.live_rows.refusals import UNREADABLE

__all__ = ["run_request"]

_PROCESSES = ForkServer("anabranch.pipelines.queries.query_process")

_KINDS = frozenset({"no_table", UNREADABLE})
"""Kinds of errors of the process that are those of the request."""

_OUT_OF_MEMORY = frozenset({"OutOfMemoryException", "ArrowMemoryError"})


def run_request(
    request: Mapping[str, Any], answers: CallAnswers, limits: QueryLimits
) -> dict[str, Any]:
    """Returns the result of a request to `query_process`, with `bytes_read`. Raises Invalid for one
    that fails or takes too much time or memory, and what reading the objects raises.
    """
    with (
        _PROCESSES.start() as process,
        Supervision(process, limits.seconds, abandonment()) as supervision,
    ):
        return _Run(process, supervision, answers, limits).perform(request)


class _Run:
    def __init__(
        self,
        process: StartedProcess,
        supervision: Supervision,
        answers: CallAnswers,
        limits: QueryLimits,
    ) -> None:
        self._process = process
        self._supervision = supervision
        self._answers = answers
        self._limits = limits

    def perform(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Sends the request and answers calls until there is a result."""
        limits = self._limits
        given = {
            "memory_bytes": limits.memory_bytes,
            "threads": limits.threads,
            "seconds": limits.seconds,
            "result_bytes": limits.result_bytes,
        }
        try:
            messages.send(self._process.stdin, {**request, **given})
            message, content = messages.receive(self._process.stdout)
            while "call" in message:
                messages.send(self._process.stdin, *self._answers.answer(message, content))
                message, content = messages.receive(self._process.stdout)
        except (EOFError, OSError):
            raise self._exit_error() from None
        if "failed" in message:
            raise self._answers.refusal or _failure(
                message["failed"], message["type"], message["hint"]
            )
        return {**message["result"], "bytes_read": self._answers.bytes_read}

    def _exit_error(self) -> AnabranchError:
        match self._supervision.stop:
            case Stop.ABANDONED:
                return Invalid("the query was cancelled", kind="query_cancelled")
            case Stop.TIMED_OUT:
                return Invalid(
                    f"the query did not finish within {self._limits.seconds:g} s",
                    kind="query_timeout",
                    hint="Read fewer objects, columns or rows; queries.timeout is the limit.",
                )
        return _failure("its process ended: it may have needed too much memory")


def _failure(reason: str, error_type: str = "", hint: str = "") -> Invalid:
    if error_type in _OUT_OF_MEMORY:
        return Invalid(
            f"the query failed: {reason.splitlines()[0]}",
            kind="query_out_of_memory",
            hint="Read fewer columns or rows; queries.memory_bytes is the limit.",
        )
    kind = error_type if error_type in _KINDS else "query_failed"
    return Invalid(f"the query failed: {reason}", kind=kind, hint=hint)
