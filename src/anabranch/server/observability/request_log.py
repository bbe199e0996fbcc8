"""Access log: a line for each request, at the configured level."""

from __future__ import annotations

import logging

from anabranch.http.request_head import RequestHead
from anabranch.server.observability.metrics import Service

__all__ = ["RequestLog"]

_log = logging.getLogger("anabranch.requests")


class RequestLog:
    """Logs requests and the statuses of their responses. Query strings, which may contain
    signatures, and headers are never logged.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self.on = level <= logging.CRITICAL and _log.isEnabledFor(level)

    def completed(
        self,
        service: Service,
        operation: str,
        status: int,
        took: float,
        head: RequestHead,
        request_id: str,
    ) -> None:
        """Logs a request that took so many seconds."""
        _log.log(
            self._level,
            "%s %s %s in %.1f ms (%s)",
            head.method,
            head.raw_path,
            status,
            took * 1000,
            request_id,
            extra={
                "fields": {
                    "request_id": request_id,
                    "service_name": service,
                    "operation_id": operation,
                    "method": head.method,
                    "path": head.raw_path,
                    "status_code": status,
                    "took_seconds": round(took, 6),
                    "client": head.client,
                }
            },
        )
