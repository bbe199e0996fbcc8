"""A process of its own, seen by the one that starts it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from anabranch.child_process.descendants import kill_descendants
from anabranch.child_process.environment import interpreter_environment

__all__ = ["INTERPRETER", "Child", "ChildEnded", "ChildHangs"]

INTERPRETER = [sys.executable]
"""The command of an interpreter. In tests of many hooks it is another."""

_MAX_LINE_BYTES = 64 << 20
_MAX_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_ERROR_CHARS = 1000


class ChildHangs(Exception):
    """The process did not finish in time."""


class ChildEnded(Exception):
    """The process ended without an answer; the text is the last line of its standard error."""


class Child:
    """A process that runs the module `module`, and is killed at the end of the context.

    `deadline` is by the monotonic clock, in seconds. `environment` is that of the process;
    by default what an interpreter needs of this process's, which has secrets.
    """

    def __init__(
        self, module: str, deadline: float, *, environment: Mapping[str, str] | None = None
    ) -> None:
        if environment is None:
            environment = interpreter_environment()
        self._deadline = deadline
        self._received = bytearray()
        self._errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115  closed with the process
        try:
            self._process = subprocess.Popen(
                [*INTERPRETER, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
                env=environment,
            )
        except BaseException:
            self._errors.close()
            raise
        assert self._process.stdin is not None  # noqa: S101  both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._input, self._output = self._process.stdin, self._process.stdout
        # a process that does not read must not hold up the one that writes
        os.set_blocking(self._input.fileno(), False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, value: Mapping[str, Any], data: bytes = b"") -> None:
        """Writes a message. Raises ChildHangs and ChildEnded."""
        about = {**value, "bytes": len(data)} if data else value
        rest = memoryview(msgspec.json.encode(about) + b"\n" + data)
        while rest:
            self._wait(self._input.fileno(), selectors.EVENT_WRITE)
            try:
                rest = rest[os.write(self._input.fileno(), rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise ChildEnded(self._reason()) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Returns the next message and its bytes. Raises ChildHangs, ChildEnded, and ValueError for
        what is no message.
        """
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > _MAX_LINE_BYTES:
                raise ValueError("its result is too long")
            self._read()
        try:
            value = json.loads(self._received[:end])
        except RecursionError:
            raise ValueError("its result is nested too deep") from None
        del self._received[: end + 1]
        if not isinstance(value, dict):
            raise ValueError("its process wrote something else than an object")  # noqa: TRY004
        size = value.pop("bytes", 0)
        if not isinstance(size, int) or not 0 <= size <= _MAX_BYTES:
            raise ValueError("its result is too long")
        while len(self._received) < size:
            self._read()
        data = bytes(self._received[:size])
        del self._received[:size]
        return value, data

    def close(self) -> None:
        """Kills the process and all that it has started, in sessions of their own as well unless
        it has ended already.
        """
        if self._process.poll() is None:
            kill_descendants(self._process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._input, self._output, self._errors):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _read(self) -> None:
        self._wait(self._output.fileno(), selectors.EVENT_READ)
        piece = os.read(self._output.fileno(), _PIECE_BYTES)
        if not piece:
            raise ChildEnded(self._reason())
        self._received += piece

    def _wait(self, descriptor: int, event: int) -> None:
        """Waits until a pipe is ready. Raises ChildHangs once the time is up."""
        rest = self._deadline - time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            if rest <= 0 or not selector.select(rest):
                raise ChildHangs

    def _reason(self) -> str:
        """Returns the last line that the process wrote to its standard error, or how it ended."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _ERROR_CHARS))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "its process ended without a result"
