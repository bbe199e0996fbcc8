"""Usage counters that clients send. They are validated and discarded: we count nothing about
people.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation

__all__ = ["OPERATIONS"]


class StatsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The count of an event."""

    class_: str = msgspec.field(name="class")
    name: str
    count: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class StatsEventsList(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of a client."""

    events: list[StatsEvent]


def post_stats_events(_: Call[None, StatsEventsList]) -> None:
    """Does nothing."""


OPERATIONS = (
    Operation(
        id="postStatsEvents",
        tag="internal",
        method="POST",
        path="/statistics",
        summary="post stats events, this endpoint is meant for internal use only",
        permission=Access.ANY_USER,
        body=StatsEventsList,
        status=204,
        handler=post_stats_events,
    ),
)
