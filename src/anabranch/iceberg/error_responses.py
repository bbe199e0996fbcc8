"""Errors in the form of the specification: `{"error": {"message", "type", "code"}}`.

Clients decide by the status and the type what to do: 409 is a commit to repeat on new metadata, 500
with CommitStateUnknownException one whose files must not be removed, and 503 is safe to repeat.
"""

from __future__ import annotations

import msgspec

from anabranch import errors
from anabranch.errors import AnabranchError, Throttled
from anabranch.http.response import Response

__all__ = ["JSON", "error_response"]

JSON = "application/json"

_BY_KIND = {
    "iceberg_table_not_found": (404, "NoSuchTableException"),
    "iceberg_view_not_found": (404, "NoSuchViewException"),
    "namespace_not_found": (404, "NoSuchNamespaceException"),
    "repository_not_found": (404, "NoSuchNamespaceException"),
    "branch_not_found": (404, "NoSuchNamespaceException"),
    "reference_not_found": (404, "NoSuchNamespaceException"),
    "namespace_not_empty": (409, "NamespaceNotEmptyException"),
    "invalid_table_metadata": (400, "IllegalArgumentException"),
    "property_twice": (422, "UnprocessableEntityException"),
    "idempotency_key_reused": (422, "UnprocessableEntityException"),
}
_BY_CLASS: dict[type[BaseException], tuple[int, str]] = {
    errors.NotFound: (404, "NotFoundException"),
    errors.Invalid: (400, "BadRequestException"),
    errors.Unauthenticated: (401, "NotAuthorizedException"),
    errors.Throttled: (429, "TooManyRequestsException"),
    errors.Denied: (403, "ForbiddenException"),
    errors.AlreadyExists: (409, "AlreadyExistsException"),
    errors.Conflict: (409, "CommitFailedException"),
    errors.PreconditionFailed: (403, "ForbiddenException"),  # a hook refuses the change
    errors.Gone: (404, "NotFoundException"),
    errors.NotSupported: (406, "UnsupportedOperationException"),
    errors.OutcomeUnknown: (500, "CommitStateUnknownException"),
    errors.Busy: (503, "ServiceUnavailableException"),
    errors.Corrupt: (422, "UnprocessableEntityException"),
    errors.StoreRefused: (422, "UnprocessableEntityException"),
}
_INTERNAL = 500, "InternalServerError"


def error_response(error: BaseException, *, bodiless: bool = False) -> Response:
    """Returns the response for an error; `bodiless` leaves out the document, as for HEAD."""
    status, name = _status(error)
    message = str(error) if isinstance(error, AnabranchError) else "an internal error"
    hint = error.hint if isinstance(error, errors.Invalid | errors.Denied) else ""
    text = f"{message} ({hint})" if hint else message
    detail = {"message": text, "type": name, "code": status}
    headers = []
    if isinstance(error, Throttled):
        headers.append(("Retry-After", str(error.retry_after)))
    if status == 401:  # noqa: PLR2004  unauthenticated
        headers.append(("WWW-Authenticate", 'Bearer realm="anabranch"'))
    body = b"" if bodiless else msgspec.json.encode({"error": detail})
    return Response(status, body, content_type=JSON, headers=headers, error=error)


def _status(error: BaseException) -> tuple[int, str]:
    if not isinstance(error, AnabranchError):
        return _INTERNAL
    if error.kind in _BY_KIND:
        return _BY_KIND[error.kind]
    return next((_BY_CLASS[each] for each in type(error).__mro__ if each in _BY_CLASS), _INTERNAL)
