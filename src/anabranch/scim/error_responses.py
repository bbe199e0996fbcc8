"""Responses for errors (RFC 7644, section 3.12)."""

from __future__ import annotations

import logging

from pydantic import ValidationError
from scim2_models import Error, SCIMException

from anabranch import errors
from anabranch.errors import AnabranchError, Throttled
from anabranch.http.response import Response

__all__ = ["CONTENT_TYPE", "error_response", "method_not_allowed"]

CONTENT_TYPE = "application/scim+json"
"""The media type of all bodies."""

_STATUSES = {
    errors.NotFound: 404,
    errors.Invalid: 400,
    errors.Unauthenticated: 401,
    errors.Throttled: 429,
    errors.Conflict: 409,
    errors.Busy: 503,
}

_log = logging.getLogger(__name__)


def error_response(error: Exception) -> Response:
    """Returns the response for an error; one that is not expected is logged."""
    if isinstance(error, SCIMException):
        return _response(error.to_error(), error)
    if isinstance(error, ValidationError):
        return _response(Error.from_validation_errors(error)[0], error)
    if not isinstance(error, AnabranchError):
        _log.error("a request of SCIM failed", exc_info=error)
        return _response(Error(status=500, detail="internal error"), error)
    status = next((_STATUSES[cls] for cls in type(error).__mro__ if cls in _STATUSES), 500)
    kind = "invalidValue" if status == _STATUSES[errors.Invalid] else None
    if error.kind == "body_too_large":
        status, kind = 413, None
    response = _response(Error(status=status, scim_type=kind, detail=error.message), error)
    if isinstance(error, Throttled):
        response.headers = [("Retry-After", str(error.retry_after))]
    return response


def method_not_allowed() -> Response:
    """Returns the response to a method that a resource does not have."""
    return _response(Error(status=405, detail="the resource does not have this method"))


def _response(body: Error, error: BaseException | None = None) -> Response:
    text = body.model_dump_json()
    return Response(body.status or 500, text.encode(), content_type=CONTENT_TYPE, error=error)
