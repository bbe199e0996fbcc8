"""The process that has started this one, and waits for its answer."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from typing import Any, cast

import msgspec

from anabranch import errors
from anabranch.child_process.end_with_parent import end_with_parent
from anabranch.child_process.standard_streams import take_standard_streams
from anabranch.errors import AnabranchError

__all__ = ["Parent"]

_PR_SET_CHILD_SUBREAPER = 36
"""Descendants whose own parents end become children of this process, in place of init, so that
`kill_descendants` finds them."""


class Parent:
    """Messages over this process's standard input and output, which the code that runs here loses:
    what it prints goes to standard error, and it has no input. May be used from several threads.

    If the parent dies, this process is killed: nobody would be left to end it.
    """

    def __init__(self) -> None:
        end_with_parent()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._lock = threading.RLock()
        self._input, self._output = take_standard_streams()

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Returns the next message and its bytes; ends this process if the parent has ended."""
        line = self._input.readline()
        if not line:
            sys.exit(1)
        value = cast(dict[str, Any], json.loads(line))
        return value, self._input.read(value.pop("bytes", 0))

    def send(self, value: dict[str, Any], data: bytes = b"") -> None:
        """Writes a message."""
        about = {**value, "bytes": len(data)} if data else value
        with self._lock:
            self._output.write(msgspec.json.encode(about) + b"\n" + data)
            self._output.flush()

    def call(self, name: str, **parameters: object) -> Any:
        """Returns the result of a call. Raises the AnabranchError that the other side has sent."""
        return self.call_for_bytes(name, **parameters)[0]

    def call_for_bytes(
        self, name: str, data: bytes = b"", /, **parameters: object
    ) -> tuple[Any, bytes]:
        """Sends a call with bytes, and returns its result and the bytes that come with it."""
        with self._lock:
            self.send({"call": name, **parameters}, data)
            message, received = self.receive()
        if "error" in message:
            raise _error(message["error"])
        return message["result"], received


def _error(about: dict[str, str]) -> AnabranchError:
    try:
        error: AnabranchError = getattr(errors, about["class"])(about["message"])
    except (AttributeError, TypeError):  # it is of another module, or has more parameters
        error = AnabranchError(about["message"])
    error.kind, error.hint = about["kind"], about["hint"]
    return error
