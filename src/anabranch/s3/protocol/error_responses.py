"""S3 error responses: the code of each error class and kind, and the XML document of an error.

The codes are the ones that S3 clients know, so that clients retry or give up correctly.

botocore, the AWS SDKs and the AWS command line retry requests that fail with 500, 502, 503 or 504;
Hadoop's S3A also retries statuses that it does not know, such as 422. Damage is permanent, so it is
reported with statuses that none of them retries: 410 for an object whose bytes are lost or damaged,
as in the REST API, and 409 for damaged metadata. S3A reads 410 as a missing file, so a directory or
a table with damaged metadata must not be reported as 410.
"""

from __future__ import annotations

from anabranch import errors
from anabranch.errors import AnabranchError, RangeNotSatisfiable
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = [
    "CODE_BY_CLASS",
    "CODE_BY_KIND",
    "error_code",
    "error_element",
    "error_response",
    "to_s3_error",
]

CODE_BY_KIND = {
    "repository_not_found": "NoSuchBucket",
    "repository_in_deletion": "NoSuchBucket",
    "branch_not_found": "NoSuchBucket",  # as in lakeFS for a write to a missing branch
    "invalid_repository_name": "InvalidBucketName",
    "repository_already_exists": "BucketAlreadyExists",
    "invalid_reference": "NoSuchKey",
    "invalid_path": "KeyTooLongError",
    "upload_not_found": "NoSuchUpload",
    "part_not_found": "InvalidPart",
    "part_too_large": "EntityTooLarge",
    "part_too_small": "EntityTooSmall",
    "wrong_size": "InvalidRequest",
    "checksum_mismatch": "BadDigest",
    "body_too_large": "MaxMessageLengthExceeded",
    "idle": "RequestTimeout",
    "invalid_form": "MalformedPOSTRequest",
    "file_exists": "PreconditionFailed",  # of tables: no client retries it
}
"""Codes of error kinds, where they differ from the code of the error's class."""

CODE_BY_CLASS = {
    errors.NotFound: "NoSuchKey",
    errors.Invalid: "InvalidArgument",
    errors.Unauthenticated: "AccessDenied",
    errors.Throttled: "SlowDown",
    errors.Denied: "AccessDenied",
    errors.Conflict: "OperationAborted",
    errors.PreconditionFailed: "PreconditionFailed",
    errors.RangeNotSatisfiable: "InvalidRange",
    errors.Gone: "Gone",
    errors.Truncated: "IncompleteBody",
    errors.NotSupported: "NotImplemented",
    errors.Busy: "SlowDown",
    errors.StoreRefused: "InternalError",
    errors.Corrupt: "DataDamaged",
}
"""Codes of error classes; a subclass has the code of its nearest ancestor."""

_STANDARD_MESSAGE_CODES = frozenset(
    {
        "AccessDenied",
        "BadDigest",
        "InternalError",
        "InvalidPart",
        "NoSuchBucket",
        "NoSuchKey",
        "NoSuchUpload",
    }
)
"""Codes whose standard S3 message is used instead of the error's own message."""

_OWN_MESSAGE_KINDS = frozenset({"branch_not_found", "protected_branch", "read_only_repository"})
"""Kinds whose own message is used nevertheless."""


def error_code(error: AnabranchError) -> str:
    """Returns the S3 code of an error."""
    if isinstance(error, S3Error):
        return error.code
    if error.kind in CODE_BY_KIND:
        return CODE_BY_KIND[error.kind]
    for cls in type(error).__mro__:
        if cls in CODE_BY_CLASS:
            return CODE_BY_CLASS[cls]
    return "InternalError"


def to_s3_error(error: AnabranchError) -> S3Error:
    """Returns an error as an S3Error."""
    if isinstance(error, S3Error):
        return error
    code = error_code(error)
    is_standard = code in _STANDARD_MESSAGE_CODES and error.kind not in _OWN_MESSAGE_KINDS
    message = None if is_standard else error.message
    if isinstance(error, RangeNotSatisfiable):
        return S3Error(code, ActualObjectSize=str(error.size))
    return S3Error(code, message)


def error_response(
    error: AnabranchError, *, resource: str, request_id: str, bodiless: bool
) -> Response:
    """Returns the response for an error; `bodiless` leaves out the document, as for HEAD."""
    converted = to_s3_error(error)
    headers = [("X-Anabranch-Hint", header_safe(error.hint))] if error.hint else []
    if isinstance(error, RangeNotSatisfiable):
        headers.append(("Content-Range", f"bytes */{error.size}"))
    if converted.code == "SlowDown":
        headers.append(("Retry-After", "1"))
    if bodiless:
        return Response(converted.status, headers=headers, error=error)
    body = document(
        "Error",
        leaf("Code", converted.code),
        leaf("Message", converted.message),
        *(leaf(name, value) for name, value in converted.details.items()),
        leaf("Resource", resource),
        leaf("RequestId", request_id),
        leaf("HostId", request_id),
        namespace="",
    )
    return Response(converted.status, body, headers=headers, error=error)


def error_element(key: str, error: AnabranchError) -> str:
    """Returns the element that reports the error of one key in a response about many keys."""
    converted = to_s3_error(error)
    return element(
        "Error", leaf("Key", key), leaf("Code", converted.code), leaf("Message", converted.message)
    )
