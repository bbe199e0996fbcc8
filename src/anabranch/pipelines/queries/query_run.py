"""One request in a process of its own, which is killed when its time is up.

The process asks for objects by calls; `ReadableObjects` answers them. An error of the lake in
such a call, such as a missing permission, is the error of the request.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any

from anabranch.errors import AnabranchError, Invalid
from anabranch.pipelines.queries import messages
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.readable_objects import ReadableObjects

__all__ = ["run_request"]

_MODULE = "anabranch.pipelines.queries.query_process"
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
"""What the process knows of this one's environment, which has secrets."""

_OUT_OF_MEMORY = frozenset({"OutOfMemoryException", "ArrowMemoryError"})


def run_request(
    request: Mapping[str, Any], objects: ReadableObjects, limits: QueryLimits
) -> dict[str, Any]:
    """Returns the result of a request to `query_process`, with `bytes_read`. Raises Invalid for one
    that fails or takes too much time or memory, and what reading the objects raises.
    """
    lifeline, ours = os.pipe()  # the process ends when `ours` is closed, also by our death
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, ours)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", _MODULE, str(lifeline)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                pass_fds=[lifeline],
            )
        finally:
            os.close(lifeline)
        run = _Run(process, objects, limits)
        timer = threading.Timer(limits.seconds, run.stop)
        timer.start()
        try:
            return run.perform(request)
        finally:
            timer.cancel()
            run.end()


class _Run:
    def __init__(
        self, process: subprocess.Popen[bytes], objects: ReadableObjects, limits: QueryLimits
    ) -> None:
        assert process.stdin is not None  # noqa: S101  both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._objects = objects
        self._limits = limits
        self._bytes_read = 0
        self._is_stopped = False
        self._refusal: AnabranchError | None = None

    def stop(self) -> None:
        """Kills the process because its time is up."""
        self._is_stopped = True
        self._process.kill()

    def end(self) -> None:
        """Kills the process, if it still runs, and closes the pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._input, self._output):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

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
            messages.send(self._input, {**request, **given})
            message, _ = messages.receive(self._output)
            while "call" in message:
                messages.send(self._input, *self._answer(message))
                message, _ = messages.receive(self._output)
        except (EOFError, OSError):
            raise self._died() from None
        if "failed" in message:
            raise self._refusal or _failed(message["failed"], message.get("type", ""))
        return {**message["result"], "bytes_read": self._bytes_read}

    def _answer(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Returns the result of a call of the process."""
        try:
            if call["call"] == "glob":
                return {"addresses": self._objects.find(call["address"])}, b""
            opened = self._objects.open(call["address"])
            if call["call"] == "open":
                return {"size": opened.entry.size, "mtime": opened.entry.mtime}, b""
            length = min(call["length"], messages.MAX_READ_BYTES)
            content = b"".join(opened.read(call["start"], length))
        except AnabranchError as error:
            is_missing = error.kind == "object_not_found"
            if not is_missing:  # patterns and statements may do without it
                self._refusal = error
            return {"error": error.message, "missing": is_missing}, b""
        self._bytes_read += len(content)
        return {}, content

    def _died(self) -> AnabranchError:
        if self._is_stopped:
            return Invalid(
                f"the query did not finish within {self._limits.seconds:g} s",
                kind="query_timeout",
                hint="Read fewer objects, columns or rows; queries.timeout is the limit.",
            )
        return _failed("its process ended: it may have needed too much memory", "")


def _failed(reason: str, error_type: str) -> Invalid:
    if error_type in _OUT_OF_MEMORY:
        return Invalid(
            f"the query failed: {reason.splitlines()[0]}",
            kind="query_out_of_memory",
            hint="Read fewer columns or rows; queries.memory_bytes is the limit.",
        )
    return Invalid(f"the query failed: {reason}", kind="query_failed")
