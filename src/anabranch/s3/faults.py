"""Errors on the wire: which code of S3 tells of which error of ours, and the document that does.

The codes are those that clients of S3 know, so that they try again, or give up, as they should.

botocore, the AWS SDKs and the AWS command line repeat requests that were answered with 500, 502,
503 or 504; Hadoop's S3A also those with statuses it does not know, such as 422. Damage stays, so it
has statuses that all of them give up on: 410 for an object whose bytes are lost or damaged, as in
the REST API, and 409 for damaged metadata. S3A takes 410 for a file that is not there, which a
directory or a table with damaged metadata must not be taken for.
"""

from __future__ import annotations

from anabranch import errors
from anabranch.errors import AnabranchError, RangeNotSatisfiable
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.errors import S3Error
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["CODE_BY_CLASS", "CODE_BY_KIND", "answer_error", "code_of", "error_element", "s3_error"]

CODE_BY_KIND = {
    "repository_not_found": "NoSuchBucket",
    "repository_in_deletion": "NoSuchBucket",
    "branch_not_found": "NoSuchBucket",  # as lakeFS says of writing to what is no branch
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
}
"""Codes of kinds that differ from their class's."""

CODE_BY_CLASS = {
    errors.NotFound: "NoSuchKey",
    errors.Invalid: "InvalidArgument",
    errors.Unauthenticated: "AccessDenied",
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
"""Codes of the classes of the tree; a subclass has that of the nearest class above it."""

_USUAL_WORDS = frozenset(
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
"""Codes whose own message says more to a user of S3 than ours does."""

_OUR_WORDS = frozenset({"branch_not_found", "protected_branch", "read_only_repository"})
"""Kinds of which ours says more all the same."""


def code_of(error: AnabranchError) -> str:
    """Returns the code that tells of an error."""
    if isinstance(error, S3Error):
        return error.code
    if error.kind in CODE_BY_KIND:
        return CODE_BY_KIND[error.kind]
    for cls in type(error).__mro__:
        if cls in CODE_BY_CLASS:
            return CODE_BY_CLASS[cls]
    return "InternalError"


def s3_error(error: AnabranchError) -> S3Error:
    """Returns the error as S3 has it."""
    if isinstance(error, S3Error):
        return error
    code = code_of(error)
    usual = code in _USUAL_WORDS and error.kind not in _OUR_WORDS
    message = None if usual else error.message
    if isinstance(error, RangeNotSatisfiable):
        return S3Error(code, ActualObjectSize=str(error.size))
    return S3Error(code, message)


def answer_error(
    error: AnabranchError, *, resource: str, request_id: str, bodiless: bool
) -> Answer:
    """Returns the answer that tells of an error; to HEAD, which is `bodiless`, its status alone."""
    told = s3_error(error)
    headers = [("X-Anabranch-Hint", header_safe(error.hint))] if error.hint else []
    if isinstance(error, RangeNotSatisfiable):
        headers.append(("Content-Range", f"bytes */{error.size}"))
    if told.code == "SlowDown":
        headers.append(("Retry-After", "1"))
    if bodiless:
        return Answer(told.status, headers=headers, error=error)
    body = document(
        "Error",
        leaf("Code", told.code),
        leaf("Message", told.message),
        *(leaf(name, value) for name, value in told.details.items()),
        leaf("Resource", resource),
        leaf("RequestId", request_id),
        leaf("HostId", request_id),
        namespace="",
    )
    return Answer(told.status, body, headers=headers, error=error)


def error_element(key: str, error: AnabranchError) -> str:
    """Returns what tells of an error of one key among many."""
    told = s3_error(error)
    return element(
        "Error", leaf("Key", key), leaf("Code", told.code), leaf("Message", told.message)
    )
