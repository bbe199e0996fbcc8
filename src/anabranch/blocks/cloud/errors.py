"""Translation of errors of object stores.

An error response is identified by its status and its code (`NoSuchBucket`). Errors that only an
administrator can correct become StoreRefused, with a hint; transient ones become Busy.
"""

from __future__ import annotations

import re

from anabranch.errors import AlreadyExists, AnabranchError, Busy, Gone, Invalid, StoreRefused

__all__ = [
    "error_from_response",
    "gone_error",
    "invalid_storage_class",
    "range_missing",
    "refuses_credentials",
    "translate_error",
    "unreachable",
]

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_FAILED_KEY = re.compile(r"request failed for key .*\(code: (?:(\d{3})|(\w+))\)", re.DOTALL)
"""A failed key of a batch deletion: Azure gives a status, S3 a code."""

_CREDENTIALS = frozenset(
    {
        "AuthenticationFailed",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
    }
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_REGION = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "PermanentRedirect",
        "TemporaryRedirect",
    }
)
_CLOCK = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_THROTTLED = frozenset({"SlowDown", "ServerBusy", "TooManyRequests", "ThrottlingException"})

_NO_KEY = frozenset(
    {
        "InvalidResourceName",
        "KeyTooLongError",
        "XMinioInvalidObjectName",
        "XMinioInvalidResourceName",
    }
)
_NO_CLASS = "InvalidStorageClass"
_TRANSIENT = frozenset(
    {"InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable"}
)
_BARE_REDIRECT = "redirect without LOCATION"

_BAD_REQUEST = 400
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _UNAVAILABLE = 401, 403, 404, 429, 503
_REDIRECTS = frozenset({301, 302, 307, 308})
_SERVER_ERRORS = 500
_STATUS_BY_CODE = {"AccessDenied": _FORBIDDEN, "AllAccessDisabled": _FORBIDDEN}


def refuses_credentials(error: AnabranchError) -> bool:
    """Returns whether an error is about the credentials, so that others may be accepted."""
    return error.kind in {"storage_credentials", "credentials_expired"}


def gone_error(address: str) -> Gone:
    """Returns the error for a block that does not exist."""
    return Gone(f"{address}: there is no data", kind="data_missing")


def range_missing(address: str, size: int) -> Gone:
    """Returns the error for a range beyond the end of a block of `size` bytes."""
    return Gone(f"{address}: the data ends at byte {size}", kind="data_missing")


def invalid_storage_class(address: str) -> Invalid:
    """Returns the error for a storage class that the store does not have."""
    return Invalid(
        f"{address}: the object store does not have this storage class",
        kind="invalid_storage_class",
        hint="Use a name of S3, such as STANDARD_IA.",
    )


def translate_error(error: Exception, address: str) -> AnabranchError:
    """Returns the error that corresponds to one of obstore."""
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    if code is None and isinstance(error, FileNotFoundError):
        return gone_error(address)
    if status is None and type(error).__name__ == "AlreadyExistsError":
        return AlreadyExists(f"{address}: there is a block already")
    if _BARE_REDIRECT in text:
        return error_from_response(address, 301, "")
    failed_key = _FAILED_KEY.search(text)
    if failed_key is not None:
        status_code = int(failed_key[1] or _STATUS_BY_CODE.get(failed_key[2], _BAD_REQUEST))
        return error_from_response(address, status_code, failed_key[2] or "")
    if status is None:
        return unreachable(address, text.partition("\n")[0])
    return error_from_response(address, int(status[1]), code[1] if code else "")


def unreachable(address: str, reason: str) -> Busy:
    """Returns the error for a response that did not arrive in time or is incomplete."""
    return Busy(
        f"{address}: the object store does not answer: {reason}",
        kind="storage_unreachable",
        hint="Try again later. Check the store's endpoint and the network.",
    )


def error_from_response(address: str, status: int, code: str) -> AnabranchError:
    """Returns the error that corresponds to a response's status and code."""
    said = f"the object store answered {status} {code}".rstrip()
    if status in {_TOO_MANY, _UNAVAILABLE} or code in _THROTTLED:
        return Busy(
            f"{address}: {said}",
            kind="storage_throttled",
            hint="The object store limits the rate of requests. Try again later.",
        )
    if status >= _SERVER_ERRORS or code in _TRANSIENT:
        return Busy(f"{address}: {said}", kind="storage_failed")
    if code in {"PreconditionFailed", "BlobAlreadyExists", "ConditionalRequestConflict"}:
        return AlreadyExists(f"{address}: there is a block already")
    if code in _NO_KEY or code == _NO_CLASS:
        return _invalid(address, code, said)
    if status == _NOT_FOUND and code not in _NO_BUCKET:
        return gone_error(address)
    return _configuration_error(address, status, code, said)


def _invalid(address: str, code: str, said: str) -> Invalid:
    """Returns the error for a key or a storage class that the store cannot have."""
    if code == _NO_CLASS:
        return invalid_storage_class(address)
    return Invalid(f"{address}: {said}: it cannot hold this key", kind="invalid_address")


def _configuration_error(address: str, status: int, code: str, said: str) -> StoreRefused:
    """Returns an error that only an administrator can correct, with a hint."""
    if code in _NO_BUCKET:
        return _refusal(address, said, "bucket_missing", "Create the bucket, or correct its name.")
    if code in _REGION or status in _REDIRECTS:
        return _refusal(
            address, said, "storage_region", "Set blockstore.s3.region to the bucket's region."
        )
    if code in _CLOCK:
        return _refusal(address, said, "storage_clock", "Correct this machine's clock.")
    if code in _EXPIRED or code in _CREDENTIALS or status == _UNAUTHORISED:
        return _credentials_error(address, code, said)
    if status == _FORBIDDEN:
        return _refusal(
            address,
            said,
            "storage_permission",
            "Allow these credentials to list, get, put and delete in the bucket.",
        )
    return _refusal(address, said, "store_refused", "")


def _credentials_error(address: str, code: str, said: str) -> StoreRefused:
    """Returns the error for credentials that the store does not accept, or no longer."""
    if code in _EXPIRED:
        return _refusal(
            address,
            f"{said}: the credentials have expired",
            "credentials_expired",
            "Renew the credentials where this process finds them, and try again.",
        )
    return _refusal(address, said, "storage_credentials", "Check the credentials under blockstore.")


def _refusal(address: str, said: str, kind: str, hint: str) -> StoreRefused:
    return StoreRefused(f"{address}: {said}", kind=kind, hint=hint)
