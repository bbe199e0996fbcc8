"""What a traced request did, call by call: the spans below that of the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time_ns
from typing import NamedTuple, ParamSpec, TypeVar

from anabranch.spent_time import Part, SpentTime

__all__ = ["MOST_CALLS", "RequestTrace", "TracedCall"]

MOST_CALLS = 500
"""So many calls of a request become spans; of further ones only the time is summed up."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class TracedCall(NamedTuple):
    """A call of a store or of hooks; the times are nanoseconds since 1970."""

    part: Part
    name: str
    began: int
    ended: int
    failed: str
    """The class of the exception, empty without one."""


class RequestTrace(SpentTime):
    """The record of a request that is traced."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.trace_headers = headers
        self.calls: list[TracedCall] = []

    def call(
        self,
        part: Part,
        calls: int,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Returns the result of a function, and notes the call."""
        if len(self.calls) >= MOST_CALLS:
            return super().call(part, calls, function, *args, **kwargs)
        began, failed = time_ns(), ""
        try:
            return super().call(part, calls, function, *args, **kwargs)
        except BaseException as error:
            failed = "" if isinstance(error, StopIteration) else type(error).__name__
            raise
        finally:
            name = "next" if function.__name__ == "__next__" else function.__name__
            self.calls.append(TracedCall(part, name, began, time_ns(), failed))
