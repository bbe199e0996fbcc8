"""Limits of calls of tools: how much they take, return and keep busy."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "DEFAULT_LIMITS",
    "MAX_ARGUMENT_BYTES",
    "MAX_BODY_BYTES",
    "MAX_CONTENT_BYTES",
    "MAX_MESSAGE_BYTES",
    "MAX_RESPONSE_BYTES",
    "MAX_RESULT_BYTES",
    "CallLimits",
]

MAX_ARGUMENT_BYTES = 1 << 20
"""The arguments of a call as JSON."""

MAX_BODY_BYTES = MAX_ARGUMENT_BYTES + (64 << 10)
"""A message over HTTP."""

MAX_MESSAGE_BYTES = 32 << 20
"""A message on standard input. It is larger than arguments may be, so that a call with too many of
them has an error of its own, with its id."""

MAX_RESULT_BYTES = 64 << 10
"""The result of a call as JSON, without the text of an object: listings end earlier."""

MAX_CONTENT_BYTES = 64 << 10
"""What one call or one resource returns of an object."""

MAX_RESPONSE_BYTES = 8 << 20
"""A response of the REST API that a tool shortens to its result."""


class CallLimits(NamedTuple):
    """`seconds` is the time limit of a call, `calls` is how many of a process run at once: those
    whose caller has gone count until their threads have ended.
    """

    seconds: float = 60.0
    calls: int = 16


DEFAULT_LIMITS = CallLimits()
