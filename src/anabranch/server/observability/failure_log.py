"""A log line for every response that reports a server-side failure: each 5xx, and damaged data with
any status.

The line is written at the default level, so that operators learn of lost or damaged files from the
log before their users report them. It contains the request, its id and the cause; the cause names
damaged files.
"""

from __future__ import annotations

import http
import logging
import re

from anabranch.errors import AnabranchError, Corrupt, Gone
from anabranch.http.request_head import RequestHead
from anabranch.server.observability.metrics import Service

__all__ = ["log_failure"]

_IN_DELETION = "repository_in_deletion"
_LEVELS = {
    http.HTTPStatus.NOT_IMPLEMENTED: logging.INFO,
    http.HTTPStatus.SERVICE_UNAVAILABLE: logging.WARNING,
}
"""Levels of statuses that indicate neither damaged data nor a bug."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that would split or forge a log line."""

_log = logging.getLogger("anabranch.failures")


def log_failure(
    service: Service,
    operation: str,
    status: int,
    error: BaseException,
    head: RequestHead,
    request_id: str,
) -> None:
    """Writes a line if a response with this status and cause reports a server-side failure."""
    if status < http.HTTPStatus.INTERNAL_SERVER_ERROR and not _is_damage(error):
        return
    fields = {
        "request_id": request_id,
        "service_name": service,
        "operation_id": operation,
        "method": head.method,
        "path": head.raw_path,
        "status_code": status,
        "kind": error.kind if isinstance(error, AnabranchError) else type(error).__name__,
    }
    _log.log(
        _LEVELS.get(http.HTTPStatus(status), logging.ERROR),
        "%s",
        _one_line(
            f"{head.method} {head.raw_path} {status} {fields['kind']}: {error} ({request_id})"
        ),
        exc_info=None if isinstance(error, AnabranchError) else error,
        extra={"fields": fields},
    )


def _is_damage(error: BaseException) -> bool:
    return isinstance(error, Corrupt) or (isinstance(error, Gone) and error.kind != _IN_DELETION)


def _one_line(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
