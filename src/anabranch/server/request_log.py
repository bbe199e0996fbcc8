"""A line in the log for each request, at the level that the settings give it."""

from __future__ import annotations

import logging
import time
from typing import Any

from anabranch.server.metrics import Service

__all__ = ["RequestLog"]

_log = logging.getLogger("anabranch.requests")


class RequestLog:
    """Writes what was asked and answered. Never a query, in which signatures may stand, nor a
    header.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self.on = level <= logging.CRITICAL and _log.isEnabledFor(level)

    def answered(
        self,
        service: Service,
        operation: str,
        status: int,
        began: float,
        scope: dict[str, Any],
        request_id: bytes,
    ) -> None:
        """Writes of a request; `began` is when it came, by `time.perf_counter`."""
        took = time.perf_counter() - began
        method, path = scope["method"], scope["raw_path"].decode("latin-1")
        client = scope.get("client")
        _log.log(
            self._level,
            "%s %s %s in %.1f ms (%s)",
            method,
            path,
            status,
            took * 1000,
            request_id.decode(),
            extra={
                "fields": {
                    "request_id": request_id.decode(),
                    "service_name": service,
                    "operation_id": operation,
                    "method": method,
                    "path": path,
                    "status_code": status,
                    "took_seconds": round(took, 6),
                    "client": client[0] if client else "",
                }
            },
        )
