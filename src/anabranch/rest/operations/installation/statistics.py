"""Usage: the counters that clients send, which are validated and discarded, since nothing about
people is counted; and the report of how many requests were received.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Need, Operation
from anabranch.rest.protocol.parameters import HEADER
from anabranch.rest.protocol.resources import on_anything
from anabranch.rest.protocol.responses import TEXT

__all__ = ["OPERATIONS"]


class StatsEvent(Body, frozen=True, kw_only=True):
    """The count of an event."""

    class_: str = msgspec.field(name="class")
    name: str
    count: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class StatsEventsList(Body, frozen=True, kw_only=True):
    """Counters of a client."""

    events: list[StatsEvent]


class UsageReport(msgspec.Struct, frozen=True):
    """The number of requests in a month, 1 to 12."""

    year: int
    month: int
    count: int


class InstallationUsageReport(msgspec.Struct, frozen=True):
    """The months with requests, the oldest first."""

    installation_id: str
    reports: list[UsageReport]


class UsageReportParams(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of getUsageReportSummary."""

    accept: Annotated[str, HEADER, Meta(description="text/plain for one line per month")] = (
        msgspec.field(default="", name="Accept")
    )


def post_stats_events(_: Call[None, StatsEventsList]) -> None:
    """Does nothing."""


def usage_report(call: Call[UsageReportParams, None]) -> InstallationUsageReport | Response:
    """Returns the number of requests in each month, as text if the client prefers it."""
    report = InstallationUsageReport(
        installation_id=call.services.access.setup.installation_id(),
        reports=[UsageReport(*month) for month in call.services.catalog.usage.report()],
    )
    if not call.params.accept.startswith("text/plain"):
        return report
    lines = [f"{each.year}-{each.month:02}\t{each.count}" for each in report.reports]
    text = "\n".join([f"installation {report.installation_id}", *lines, ""])
    return Response(200, text.encode(), content_type=TEXT)


OPERATIONS = (
    Operation(
        id="getUsageReportSummary",
        tag="internal",
        method="GET",
        path="/usage-report/summary",
        summary="get usage report summary",
        permission=(Need(Action.READ_CONFIG, on_anything),),
        params=UsageReportParams,
        response=InstallationUsageReport,
        handler=usage_report,
    ),
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
