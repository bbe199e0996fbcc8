"""The tracing of deliveries: of each attempt to run the hooks of a queued event."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

__all__ = ["Attempt", "Deliveries", "Delivery"]


class Attempt(NamedTuple):
    """An attempt to run the hooks of an event, from 1 on: the event's type and id, and the run.
    `trace` has the headers of the trace of the request that has queued the event.
    """

    event_type: str
    event_id: str
    run_id: str
    number: int
    trace: Mapping[str, str]


class Delivery(Protocol):
    """A delivery under way. Requests to others continue its trace by `trace_headers`."""

    trace_headers: Mapping[str, str]

    def fail(self) -> None:
        """Notes that a hook has failed."""


class Deliveries(Protocol):
    """Traces deliveries."""

    def deliver(self, attempt: Attempt) -> AbstractContextManager[Delivery]:
        """Traces what is done in the context as a part of the trace of the attempt's event."""
