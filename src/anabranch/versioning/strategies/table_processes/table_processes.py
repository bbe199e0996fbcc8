"""The processes that merge and compare objects: each performs one task, and ends.

A process has neither secrets nor a connection to the stores. It is killed when its time is up, and
when the client of the request that it works for has gone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import Any

from anabranch.child_process.fork_server import ForkServer, StartedProcess
from anabranch.child_process.supervision import Stop, Supervision
from anabranch.errors import AnabranchError, Busy, Conflict, PreconditionFailed
from anabranch.http.abandonment import abandonment
from anabranch.versioning.strategies.contract import PROCESS_ENDED, TIMED_OUT, TOO_LARGE
from anabranch.versioning.strategies.table_processes.limits import TABLE, TableLimits, split_hint
from anabranch.versioning.strategies.table_processes.messages import (
    Call,
    Compared,
    Failed,
    Listed,
    Merged,
    Message,
    MessageTooLarge,
    Request,
    Result,
    Task,
    noun_of,
    receive_message,
    send,
)

__all__ = ["AnswerCall", "TableProcesses"]

_PACKAGE = "anabranch.versioning.strategies.table_processes"
_TABLES = ForkServer(f"{_PACKAGE}.table_process")
_DOCUMENTS = ForkServer(f"{_PACKAGE}.document_process")
"""That of JSON documents and texts, which need no libraries."""

_log = logging.getLogger(__name__)

_MAX_WAIT_SECONDS = 60.0

AnswerCall = Callable[[Call], Any]
"""Returns the result of a call of a process, a JSON value, or raises what ends the task."""


class TableProcesses:
    """Performs tasks within limits. Threads may share it: those above its number of processes wait,
    at most a minute.
    """

    def __init__(
        self, limits: TableLimits | None = None, *, max_wait: float = _MAX_WAIT_SECONDS
    ) -> None:
        self._limits = limits or TableLimits()
        self._free = threading.BoundedSemaphore(self._limits.processes)
        self._max_wait = max_wait

    def perform(self, task: Task, answer: AnswerCall) -> Merged | Compared | Listed:
        """Returns the result of a task. Raises the error of the process and those of `answer`;
        Conflict (kinds merge_timed_out, merge_out_of_memory, merge_process_ended) if it exceeds a
        limit or crashes, PreconditionFailed (client_gone), and Busy (too_many_tables).
        """
        noun = noun_of(task)
        server = _TABLES if noun == TABLE else _DOCUMENTS
        with ExitStack() as ending:
            ending.enter_context(self._place())
            process = ending.enter_context(server.start())
            with Supervision(process, self._limits.seconds, abandonment()) as supervision:
                result = _Run(process, supervision, self._limits, answer, noun).perform(task)
            _end_later(ending.pop_all())
            return result

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Waits until fewer processes run than are permitted."""
        if not self._free.acquire(timeout=self._max_wait):
            raise Busy("the server merges or compares other objects", kind="too_many_tables")
        try:
            yield
        finally:
            self._free.release()


def _end_later(ending: ExitStack) -> None:
    """Ends a process that has sent its result, which need not wait for that."""
    try:
        Thread(target=ending.close, daemon=True).start()
    except RuntimeError:  # the system has no more threads
        ending.close()


class _Run:
    """One process and its task."""

    def __init__(
        self,
        process: StartedProcess,
        supervision: Supervision,
        limits: TableLimits,
        answer: AnswerCall,
        noun: str,
    ) -> None:
        self._process = process
        self._supervision = supervision
        self._limits = limits
        self._answer = answer
        self._noun = noun

    def perform(self, task: Task) -> Merged | Compared | Listed:
        """Sends the task, and answers calls until there is a result."""
        message = self._exchange(Request(task, self._limits))
        while isinstance(message, Call):
            message = self._exchange(Result(self._answer(message)))
        if isinstance(message, Failed):
            if message.trace:
                _log.error("the process of a table failed: %s", message.trace)
            raise message.exception()
        return message

    def _exchange(self, sent: Request | Result) -> Message:
        try:
            send(self._process.stdin, sent)
            return receive_message(self._process.stdout)
        except MessageTooLarge:
            raise Conflict(
                "the values that conflict or differ are too large to be shown",
                kind=TOO_LARGE,
                hint=split_hint(self._noun),
            ) from None
        except (EOFError, OSError, ValueError):
            raise self._exit_error() from None

    def _exit_error(self) -> AnabranchError:
        """Returns why the process has ended without a result."""
        match self._supervision.stop:
            case Stop.ABANDONED:
                return PreconditionFailed("the client has disconnected", kind="client_gone")
            case Stop.TIMED_OUT:
                return Conflict(
                    f"the {self._noun} took more than {self._limits.seconds:g} s",
                    kind=TIMED_OUT,
                    hint=f"{split_hint(self._noun)} merges.timeout is the limit.",
                )
        return Conflict(
            f"the process that read the {self._noun} ended: it crashed, or needed too much memory",
            kind=PROCESS_ENDED,
            hint=f"{split_hint(self._noun)} merges.memory_bytes is the limit of memory.",
        )
