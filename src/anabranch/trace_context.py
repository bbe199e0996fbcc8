"""The trace to which a thread's work belongs, for the requests to others that it causes.

The headers are those of W3C Trace Context (https://www.w3.org/TR/trace-context/). In a server they
name the span of the request that the thread performs, if it is traced; in another program the span
that it has made current with OpenTelemetry, if it uses that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from anabranch.spent_time import current_spent_time

__all__ = ["continued_trace", "trace_headers"]

_of_thread: ContextVar[Mapping[str, str] | None] = ContextVar("trace headers", default=None)


def trace_headers() -> Mapping[str, str]:
    """Returns the headers for a request to another server; none if the work is not traced."""
    spent = current_spent_time()
    given = (spent.trace_headers if spent else _of_thread.get()) or {}
    if given or "opentelemetry.trace" not in sys.modules:
        return given
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  an extra
        TraceContextTextMapPropagator,
    )

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers


@contextmanager
def continued_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Within the context, requests of this thread have these headers: `trace_headers` of the thread
    whose work it continues.
    """
    token = _of_thread.set(headers)
    try:
        yield
    finally:
        _of_thread.reset(token)
