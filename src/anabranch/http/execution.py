"""How an operation of either gateway is executed, and how it takes its body: both are declared.

`server/execution/policy.py` resolves the declaration for each request.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["BRIEF", "BodyKind", "Execution", "check_declaration"]


class Execution(Enum):
    """Where the work of an operation runs."""

    INLINE = "inline"
    """On the event loop: the operation neither waits nor takes long, and has no body. Where a store
    is on another machine, it is batched or pooled."""
    BATCHED = "batched"
    """On the batch thread, where calls that wait for the same store wait together: the operation
    waits for the stores alone, and not for long while its body is small. A longer body streams."""
    POOLED = "pooled"
    """On a thread of the pool, once its body was received."""
    STREAMED = "streamed"
    """On a thread that takes the body as it arrives; pooled if the body is small."""
    BRIEF_READ = "brief read"
    """Inline if it is brief, as most are; pooled if it then raises `TakesLong` (`brevity.py`)."""
    BRIEF_CHANGE = "brief change"
    """Batched if it is brief, as most are; pooled if it then raises `TakesLong`."""

    __hash__ = object.__hash__
    """Each request looks one up, and the hash of `Enum` is a function of Python."""


BRIEF = {Execution.BRIEF_READ: Execution.INLINE, Execution.BRIEF_CHANGE: Execution.BATCHED}
"""How operations are executed that are tried first, and done again on a thread if that takes long.
"""


class BodyKind(Enum):
    """How an operation takes its body."""

    NONE = "none"
    WHOLE = "whole"
    """Read before the operation begins, up to a limit."""
    STREAM = "stream"
    """Iterated over as it arrives, not looked at before the caller is authorized."""


def check_declaration(operation: str, execution: Execution, body: BodyKind) -> None:
    """Raises TypeError for an execution that cannot take such a body."""
    if BRIEF.get(execution, execution) is Execution.INLINE and body is not BodyKind.NONE:
        raise TypeError(f"operation {operation} has a body, so it cannot be executed inline")
    if execution in BRIEF and body is BodyKind.STREAM:
        raise TypeError(f"operation {operation} takes its body once, so it cannot be tried")
    streams = execution in {Execution.STREAMED, Execution.BATCHED}
    if body is BodyKind.STREAM and not streams:
        raise TypeError(f"operation {operation} streams its body, so it is streamed or batched")
    if execution is Execution.STREAMED and body is not BodyKind.STREAM:
        raise TypeError(f"operation {operation} has no body to stream")
