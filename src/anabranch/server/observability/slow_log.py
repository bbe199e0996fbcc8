"""A log line for each request that takes long, with what it waited for.

Time in which the client sends the body or takes the response slowly does not count, and is said
apart. At most `LINES` lines are written in a minute; further requests are summed up in one line.
The line contains neither the query nor headers, and the path, which may be that of an object, only
if the request log is on, which contains it as well.
"""

from __future__ import annotations

import logging
import math
import time
from typing import NamedTuple

from anabranch.http.request_head import RequestHead
from anabranch.server.observability.count_log import LOG_INTERVAL_SECONDS, CountLog
from anabranch.server.observability.metrics import Service
from anabranch.spent_time import SpentTime

__all__ = ["LINES", "CompletedRequest", "SlowLog"]

LINES = 30

_log = logging.getLogger("anabranch.slow")


class CompletedRequest(NamedTuple):
    """A request, whose user is empty without one, and the status of its response."""

    service: Service
    operation: str
    user: str
    status: int
    head: RequestHead
    request_id: str


class SlowLog:
    """Logs requests that take `seconds` or longer; none if that is 0. For the event loop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds or math.inf
        self.others = CountLog("slow requests without a line of their own, by operation")
        """What is to be logged regularly."""
        self._minute = -LOG_INTERVAL_SECONDS
        self._lines = 0

    def completed(
        self, request: CompletedRequest, took: float, spent: SpentTime, *, with_path: bool
    ) -> None:
        """Logs a request that took so many seconds, unless too many of them are its client's."""
        if took - spent.client < self.seconds:
            return
        if not self._has_line():
            self.others.note(request.operation)
            return
        head = request.head
        what = f"{head.method} {head.raw_path}" if with_path else request.operation
        own = took - spent.client
        other = max(0.0, took - spent.known - spent.sending)
        fields: dict[str, object] = {
            "request_id": request.request_id,
            "service_name": request.service,
            "operation_id": request.operation,
            "method": head.method,
            "status_code": request.status,
            "user": request.user,
            "client": head.client,
            "took_seconds": round(own, 6),
            "thread_seconds": round(spent.threads, 6),
            "keyvalue_seconds": round(spent.keyvalue, 6),
            "keyvalue_calls": spent.keyvalue_calls,
            "blocks_seconds": round(spent.blocks, 6),
            "blocks_calls": spent.blocks_calls,
            "hooks_seconds": round(spent.hooks, 6),
            "sending_seconds": round(spent.sending, 6),
            "other_seconds": round(other, 6),
            "client_seconds": round(spent.client, 6),
        }
        if with_path:
            fields["path"] = head.raw_path
        _log.warning(
            "slow: %s %s in %.2f s: thread %.2f, key-value store %.2f (calls: %d), "
            "block store %.2f (calls: %d), hooks %.2f, sending %.2f, other %.2f; "
            "the client took %.2f s more (%s)",
            what,
            request.status,
            own,
            spent.threads,
            spent.keyvalue,
            spent.keyvalue_calls,
            spent.blocks,
            spent.blocks_calls,
            spent.hooks,
            spent.sending,
            other,
            spent.client,
            request.request_id,
            extra={"fields": fields},
        )

    def _has_line(self) -> bool:
        now = time.monotonic()
        if now - self._minute >= LOG_INTERVAL_SECONDS:
            self._minute, self._lines = now, 0
        self._lines += 1
        return self._lines <= LINES
