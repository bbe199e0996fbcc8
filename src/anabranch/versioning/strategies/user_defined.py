"""Strategies of installed packages, which run in a process of their own.

A strategy that hangs is killed after its rule's option `timeout` (seconds, 60 by default), one that
crashes takes nothing with it. The two processes exchange JSON values, one in each line: first the
request, then calls of the strategy and their results, at last the conflicts or an error.
`strategy_process` is the other side.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
)

__all__ = ["MAX_TIMEOUT_SECONDS", "TIMEOUT_SECONDS", "UserDefinedStrategy"]

TIMEOUT_SECONDS = 60.0
MAX_TIMEOUT_SECONDS = 3600.0
_MAX_LINE_BYTES = 64 << 20
_ERROR_CHARS = 1000
_MODULE = "anabranch.versioning.strategies.strategy_process"


class UserDefinedStrategy:
    """The strategy that the entry point `name` makes from `options`."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self._options = dict(options)
        timeout = self._options.pop("timeout", TIMEOUT_SECONDS)
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not is_number or not 0 < timeout <= MAX_TIMEOUT_SECONDS:
            raise Invalid(
                f"option timeout of the strategy {name}: must be a number of seconds above 0, at "
                f"most {MAX_TIMEOUT_SECONDS:g}, not {timeout!r}",
                kind="invalid_merge_options",
            )
        self._timeout = float(timeout)

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Runs the strategy. Raises Conflict if it fails, hangs or breaks the protocol."""
        folder = Path(conflict.work_folder)
        request = {
            "name": self._name,
            "options": self._options,
            "path": conflict.path,
            "work_folder": str(folder),
        }
        with (folder / "strategy-errors").open("w+b") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
            try:
                channel = _Channel(process, time.monotonic() + self._timeout)
                channel.send(request)
                result = self._answer_calls(channel, conflict, output)
            except _Hangs:
                raise self._failed(f"it did not finish within {self._timeout:g} s") from None
            except (_Ended, ValueError, OSError) as error:
                raise self._failed(_last_line(errors) or str(error)) from None
            finally:
                _end(process)
        return result

    def _answer_calls(
        self, channel: _Channel, conflict: PathConflict, output: MergeOutput
    ) -> Sequence[ContentConflict]:
        while True:
            message = channel.receive()
            if "error" in message:
                raise self._failed(str(message["error"]))
            if "conflicts" in message:
                return msgspec.convert(message["conflicts"], list[ContentConflict])
            channel.send({"result": _perform(message, conflict, output)})

    def _failed(self, reason: str) -> Conflict:
        return Conflict(f"the strategy {self._name} failed: {reason}", kind="merge_failed")


def _perform(message: Mapping[str, Any], conflict: PathConflict, output: MergeOutput) -> Any:
    """Performs a call of the strategy and returns its result."""
    call = message["call"]
    if call == "read":
        version = _version(conflict, message)
        if version is None:
            return None
        about = {"content_type": version.content_type, "metadata": dict(version.metadata)}
        return {"size": version.size, **about}
    if call == "file":
        version = _version(conflict, message)
        return None if version is None else version.path()
    if call == "list":
        return list(conflict.list(message["side"], message["prefix"]))
    path = message["path"]
    if call == "create":
        given = {name: message[name] for name in ("content_type", "metadata")}
        file = Path(message["file"])
        if file.resolve().parent != Path(conflict.work_folder).resolve():
            raise ValueError("new content is not in the work folder")
        with output.create(path, **given) as stream, file.open("rb") as written:
            shutil.copyfileobj(written, stream)
        file.unlink()
    elif call == "take":
        output.take(path, message["side"])
    elif call == "delete":
        output.delete(path)
    else:
        raise ValueError(f"unknown call {call!r}")
    return None


def _version(conflict: PathConflict, message: Mapping[str, Any]) -> ObjectVersion | None:
    side, path = message["side"], message["path"]
    if path != conflict.path:
        return conflict.read(side, path)
    versions = {
        "base": conflict.base,
        "source": conflict.source,
        "destination": conflict.destination,
    }
    return versions[side]


class _Hangs(Exception):
    """The time is up."""


class _Ended(Exception):
    """The process has ended without a result."""


class _Channel:
    """The pipes to a process. `deadline` is by the monotonic clock, in seconds."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdin is not None  # noqa: S101  both are pipes
        assert process.stdout is not None  # noqa: S101
        self._input, self._output = process.stdin, process.stdout
        self._deadline = deadline
        self._received = b""

    def send(self, value: object) -> None:
        """Writes a value."""
        self._input.write(json.dumps(value).encode() + b"\n")
        self._input.flush()

    def receive(self) -> dict[str, Any]:
        """Returns the next value. Raises _Hangs, _Ended, and ValueError for a line that is none."""
        while b"\n" not in self._received:
            with selectors.DefaultSelector() as selector:
                selector.register(self._output, selectors.EVENT_READ)
                if not selector.select(max(0.0, self._deadline - time.monotonic())):
                    raise _Hangs
            piece = os.read(self._output.fileno(), 1 << 20)
            if not piece:
                raise _Ended("its process ended without a result")
            self._received += piece
            if len(self._received) > _MAX_LINE_BYTES:
                raise ValueError("its result is too long")
        line, _, self._received = self._received.partition(b"\n")
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError("its process wrote something else than an object")  # noqa: TRY004
        return value


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and all that it has started, and closes the pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue


def _last_line(errors: Any) -> str:
    """Returns the last line that the process wrote to its standard error."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - _ERROR_CHARS))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
