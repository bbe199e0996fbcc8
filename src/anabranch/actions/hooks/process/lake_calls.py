"""Calls of a process for its lake, performed in the process that started it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, BinaryIO, Self

from anabranch.actions.hooks.contract import HookLake
from anabranch.errors import AnabranchError
from anabranch.model.page import MAX_AMOUNT

__all__ = ["MAX_READ_BYTES", "LakeCalls"]

MAX_READ_BYTES = 8 << 20
_MAX_OPEN = 256

_Answer = tuple[dict[str, Any], bytes]


class LakeCalls:
    """Performs calls; the streams that they open are closed at the end of the context."""

    def __init__(self, lake: HookLake) -> None:
        self._lake = lake
        self._streams: dict[int, BinaryIO] = {}
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for stream in self._streams.values():
                stack.callback(stream.close)

    def perform(self, message: Mapping[str, Any], data: bytes) -> _Answer:
        """Returns the answer to a call, which may be an error. Raises ValueError for what is no
        call.
        """
        try:
            return self._perform(message, data)
        except AnabranchError as error:
            about = {"message": error.message, "kind": error.kind, "hint": error.hint}
            return {"error": {"class": type(error).__name__, **about}}, b""
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its process made a wrong call: {error!r}") from error

    def _perform(self, message: Mapping[str, Any], data: bytes) -> _Answer:
        call = message["call"]
        if call == "read":
            stream = self._streams[message["stream"]]
            stream.seek(message["start"])
            return {"result": None}, stream.read(min(message["length"], MAX_READ_BYTES))
        if call == "open":
            return {"result": self._open(message)}, b""
        if call == "close":
            self._streams.pop(message["stream"]).close()
            return {"result": None}, b""
        if call == "request":
            status, body = self._lake.request(
                message["method"], message["path"], message["query"], data
            )
            return {"result": status}, body
        return {"result": self._look_up(call, message)}, b""

    def _open(self, message: Mapping[str, Any]) -> dict[str, int]:
        if len(self._streams) >= _MAX_OPEN:
            raise ValueError("its process has opened too many objects")
        stat = self._lake.stat(message["reference"], message["path"])
        stream = self._lake.read(message["reference"], message["path"])
        self._next += 1
        self._streams[self._next] = stream
        return {"stream": self._next, "size": stat.entry.size}

    def _look_up(self, call: str, message: Mapping[str, Any]) -> object:
        lake = self._lake
        if call == "stat":
            return lake.stat(message["reference"], message["path"])
        if call == "commit":
            return lake.commit(message["reference"])
        given = {name: value for name, value in message.items() if name not in _PLACES}
        given["amount"] = min(given["amount"], MAX_AMOUNT)
        if call == "list":
            return lake.list(message["reference"], **given)
        if call == "diff":
            return lake.diff(message["left"], message["right"], **given)
        raise ValueError(f"its process made the unknown call {call!r}")


_PLACES = frozenset(("call", "reference", "left", "right"))
