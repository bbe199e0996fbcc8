"""Error responses of a server, and the errors of the library's tree that they stand for.

Anabranch names an error's class, its kind and a hint in the headers `X-Anabranch-Error`,
`X-Anabranch-Kind` and `X-Anabranch-Hint`. lakeFS has none of them, so its errors are known by their
status alone.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from anabranch import errors
from anabranch.client.transport import Response
from anabranch.errors import (
    AnabranchError,
    Busy,
    CommitExpired,
    Conflict,
    Corrupt,
    Denied,
    DirtyBranch,
    Gone,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
    ProtectedBranch,
    RangeNotSatisfiable,
    ReadOnlyRepository,
    Throttled,
    Unauthenticated,
)

__all__ = ["ErrorResponse", "parse_error_response", "to_error"]

_REDIRECTS = range(300, 400)

_BY_STATUS: dict[int, type[AnabranchError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Denied,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    500: Corrupt,
}
_BY_KIND = {
    error.kind: error
    for error in (NoChanges, DirtyBranch, OutcomeUnknown, ProtectedBranch, ReadOnlyRepository)
}


class ErrorResponse(NamedTuple):
    """A response whose status is not a success. `document` is its JSON, None for another body;
    `location` is where a redirect points, `error` the name of the error's class, `size` that of an
    object whose range is not satisfiable, `retry_after` in seconds.
    """

    status: int
    message: str
    document: Any = None
    kind: str = ""
    hint: str = ""
    location: str = ""
    error: str = ""
    size: int = 0
    retry_after: float = 1.0

    @property
    def is_redirect(self) -> bool:
        """Whether the server refers the client to another address."""
        return self.status in _REDIRECTS


def parse_error_response(response: Response, body: bytes) -> ErrorResponse:
    """Returns the content of an error response whose body has been read."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    message = document.get("message") if isinstance(document, dict) else None
    if not isinstance(message, str) or not message:
        message = _default_message(response.status, body)
    location = response.header("location")
    if response.status in _REDIRECTS:
        message = f"the server redirects to {location}"
    return ErrorResponse(
        response.status,
        message,
        document,
        response.header("x-anabranch-kind"),
        response.header("x-anabranch-hint"),
        location,
        response.header("x-anabranch-error"),
        _number(r"bytes \*/(\d+)", response.header("content-range"), 0),
        _number(r"(\d+)", response.header("retry-after"), 1),
    )


def to_error(server: str, response: ErrorResponse) -> AnabranchError:
    """Returns the error that a response of `server` stands for: its URL begins the message, unless
    it is empty. A status that no other error has becomes Busy.
    """
    message = f"{server}: {response.message}" if server else response.message
    if response.is_redirect:
        return Invalid(message, kind="redirected", hint="Use the address that it redirects to.")
    document = response.document if isinstance(response.document, dict) else {}
    if response.kind == MergeConflict.kind or "conflicts" in document:
        conflicts = document.get("conflicts") or ()
        paths = [each if isinstance(each, str) else each["path"] for each in conflicts]
        count = None if document.get("has_more") else document.get("conflict_count", len(paths))
        return MergeConflict(
            message,
            paths=paths,
            count=count,
            commit_id=document.get("commit_id", ""),
            hint=response.hint or None,
        )
    error = _class_of(response)
    kind, hint = response.kind or None, response.hint or None
    if error is RangeNotSatisfiable:
        return RangeNotSatisfiable(message, size=response.size)
    if error is CommitExpired:
        return CommitExpired(message, removed=bool(document.get("removed")), hint=hint)
    if error is Throttled:
        return Throttled(message, kind=kind, retry_after=response.retry_after)
    return error(message, kind=kind, hint=hint)


def _class_of(response: ErrorResponse) -> type[AnabranchError]:
    named = getattr(errors, response.error, None) if response.error.isidentifier() else None
    if isinstance(named, type) and issubclass(named, AnabranchError):
        return named
    return _BY_KIND.get(response.kind) or _BY_STATUS.get(response.status, Busy)


def _number(pattern: str, header: str, missing: int) -> int:
    match = re.fullmatch(pattern, header)
    return int(match[1]) if match else missing


def _default_message(status: int, body: bytes) -> str:
    start = body.lstrip()[:200].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "the response is a web page: this is not the address of the API"
    if status == 409:  # noqa: PLR2004
        return "conflict"
    return f"the server responded with status {status}"
