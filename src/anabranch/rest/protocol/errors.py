"""Statuses and bodies of errors.

The body is `{"message": …}` as in lakeFS. What lakeFS does not have is in headers: the class of the
error in `X-Anabranch-Error`, its kind in `X-Anabranch-Kind`, the hint in `X-Anabranch-Hint`.
"""

from __future__ import annotations

import http

import msgspec

from anabranch import errors
from anabranch.errors import (
    AnabranchError,
    CommitExpired,
    MergeConflict,
    OutcomeUnknown,
    RangeNotSatisfiable,
    Throttled,
)
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.rest.protocol.responses import json_response

__all__ = [
    "STATUS_BY_CLASS",
    "STATUS_BY_KIND",
    "Error",
    "error_response",
    "status_for",
]

STATUS_BY_KIND = {
    "insufficient_permissions": http.HTTPStatus.UNAUTHORIZED,  # lakeFS says 401, never 403
    "too_many_attempts": http.HTTPStatus.TOO_MANY_REQUESTS,
    "idempotency_key_reused": http.HTTPStatus.UNPROCESSABLE_ENTITY,
    "body_too_large": http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unsupported_by_store": http.HTTPStatus.BAD_REQUEST,
}
"""Statuses of kinds that differ from those of their classes."""

STATUS_BY_CLASS = {
    errors.NotFound: http.HTTPStatus.NOT_FOUND,
    errors.Invalid: http.HTTPStatus.BAD_REQUEST,
    errors.Unauthenticated: http.HTTPStatus.UNAUTHORIZED,
    errors.Denied: http.HTTPStatus.FORBIDDEN,
    errors.Conflict: http.HTTPStatus.CONFLICT,
    errors.PreconditionFailed: http.HTTPStatus.PRECONDITION_FAILED,
    errors.RangeNotSatisfiable: http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    errors.Gone: http.HTTPStatus.GONE,
    errors.Truncated: http.HTTPStatus.BAD_REQUEST,
    errors.NotSupported: http.HTTPStatus.NOT_IMPLEMENTED,
    errors.Busy: http.HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StoreRefused: http.HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.Throttled: http.HTTPStatus.TOO_MANY_REQUESTS,
    errors.Corrupt: http.HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""Statuses of error classes; a subclass has that of its nearest listed base class."""

RETRY_AFTER_SECONDS = "1"


class Error(msgspec.Struct, frozen=True):
    """lakeFS's body of every error."""

    message: str


def status_for(error: AnabranchError) -> int:
    """Returns the HTTP status of an error."""
    if error.kind in STATUS_BY_KIND:
        return STATUS_BY_KIND[error.kind]
    for cls in type(error).__mro__:
        if cls in STATUS_BY_CLASS:
            return STATUS_BY_CLASS[cls]
    return http.HTTPStatus.INTERNAL_SERVER_ERROR


def error_response(error: AnabranchError) -> Response:
    """Returns the response for an error."""
    status = status_for(error)
    headers = [
        ("X-Anabranch-Error", type(error).__name__),
        ("X-Anabranch-Kind", header_safe(error.kind)),
    ]
    if error.hint:
        headers.append(("X-Anabranch-Hint", header_safe(error.hint)))
    # with Retry-After clients would retry, although the change may have been made
    if status == http.HTTPStatus.SERVICE_UNAVAILABLE and not isinstance(error, OutcomeUnknown):
        headers.append(("Retry-After", RETRY_AFTER_SECONDS))
    if isinstance(error, Throttled):
        headers.append(("Retry-After", str(error.retry_after)))
    if isinstance(error, RangeNotSatisfiable):
        headers.append(("Content-Range", f"bytes */{error.size}"))
    body: object = Error(error.message)
    if isinstance(error, MergeConflict):
        body = _merge_conflict(error)
    if isinstance(error, CommitExpired):
        body = {"message": error.message, "removed": error.removed}
    return json_response(status, body, headers, error=error)


def _merge_conflict(error: MergeConflict) -> dict[str, object]:
    """Returns the body that `schemas.merge_conflicts.MergeConflictResult` describes."""
    counted = {} if error.count is None else {"conflict_count": error.count}
    about_commit = {"commit_id": error.commit_id} if error.commit_id else {}
    return {
        **counted,
        "conflicts": error.conflicts or error.paths,
        "has_more": error.count is None,
        "message": error.message,
        "reference": "",
        **about_commit,
    }
